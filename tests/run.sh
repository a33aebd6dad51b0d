#!/usr/bin/env bash
# Runs everything and ends with the counts. Needs root, Debian and a Rust toolchain; what else is missing it installs.
#
#   tests/run.sh                      all: cargo test, scenarios on a real engine, simulation
#   tests/run.sh engine [FILTER…]     only the scenarios on a real engine
#   tests/run.sh simulate [ARGS…]     only the simulation, e.g. --seeds 20000
#   tests/run.sh mutants [ARGS…]      applies each kept mutant to a copy; the referee must see it
#   tests/run.sh bench [ARGS…]        prints figures, asserts nothing
#
# The engine is the one that answers at DOCKER_HOST or /var/run/docker.sock. Where none does, a private one is started on
# its own socket, data folder and containerd, and ended again. Containers and images are marked with this run's ID, and
# nothing else is touched or removed.
#
#   DEFIB_TEST_SEEDS=N                seeds of the simulation in a whole run (500)
#   DEFIB_TEST_THREADS=N              scenarios at the same time (6: they mostly wait)
#   DEFIB_TEST_PRIVATE_ENGINE=1       a private engine, whatever answers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
DEFIB_TEST_RUN="r$(date +%s)-$$"
export DEFIB_TEST_RUN
WORK=$(mktemp -d "${TMPDIR:-/tmp}/defib-test.XXXXXX")
OUTPUT=$WORK/output
PIDS=()
BRIDGE=
: >"$OUTPUT"

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'tests/run.sh: %s\n' "$*" >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }

main() {
    trap tidy_up EXIT
    trap 'exit 130' INT TERM
    local what=${1:-all}
    shift || true
    has cargo || fail "cargo is not in PATH: install a Rust toolchain (https://rustup.rs), then run this again"
    case $what in
        all) need_compiler; need_tracer; need_engine; everything ;;
        engine) need_compiler; need_engine; scenarios "$@" ;;
        simulate) need_compiler; simulation "$@" ;;
        mutants) need_compiler; need_script tests/mutants/run.sh "$@" ;;
        bench) need_compiler; need_engine; benchmarks "$@" ;;
        -h | --help | help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; return 0 ;;
        *) fail "no command \`$what\`; tests/run.sh --help lists them" ;;
    esac
    closing_line
}

# --- what is run

everything() {
    # Each goes on where another failed: one run says all there is to say.
    say "cargo test, without the scenarios and the simulation"
    # shellcheck disable=SC2046  # words are meant
    counted cargo test --no-fail-fast $(all_but engine simulate)
    counted cargo test --doc
    scenarios
    if has_target simulate; then simulation --seeds "${DEFIB_TEST_SEEDS:-500}"; fi
}

scenarios() {
    say "scenarios on the engine at $DEFIB_TEST_ENGINE"
    counted cargo test --test engine -- --test-threads "${DEFIB_TEST_THREADS:-6}" "$@"
}

simulation() {
    has_target simulate || fail "there is no tests/simulate yet"
    say "simulation: $*"
    counted cargo test --profile simulation --test simulate -- "$@"
}

benchmarks() {
    has_target bench || fail "there is no tests/bench yet"
    say "benchmarks: printed, not asserted"
    counted cargo test --release --test bench -- "$@"
}

need_script() {
    local script=$1
    shift
    [[ -x $script ]] || fail "there is no $script yet"
    counted "$script" "$@"
}

# Runs it, shows what it says, and keeps that for the counts.
counted() {
    # A failure that no "test result:" line tells of, such as a compiler's, must still count.
    "$@" 2>&1 | tee -a "$OUTPUT" || echo "command failed: $*" | tee -a "$OUTPUT" >&2
}

has_target() { test_targets | grep -qx "$1"; }

# The integration tests that cargo knows of.
test_targets() {
    local entry
    for entry in tests/*.rs tests/*/main.rs; do
        [[ -e $entry ]] || continue
        entry=${entry#tests/}
        entry=${entry%/main.rs}
        echo "${entry%.rs}"
    done
}

# Arguments of cargo test for everything but these.
all_but() {
    local target
    echo --lib --bins
    for target in $(test_targets); do
        case " $* bench " in *" $target "*) ;; *) echo --test "$target" ;; esac
    done
}

# --- what it needs

# busybox-static is the root of images that need a shell.
need_compiler() { install_missing cc:gcc libc6-dev:libc6-dev ca-certificates:ca-certificates tar:tar busybox:busybox-static; }

# It plays the disk whose fsync fails or hangs (tests/store/failing_disk.rs).
need_tracer() { install_missing strace:strace; }

# Each argument is what to look for, and the package that has it.
install_missing() {
    local pair missing=()
    for pair in "$@"; do is_there "${pair%%:*}" || missing+=("${pair#*:}"); done
    ((${#missing[@]})) || return 0
    has apt-get || fail "missing: ${missing[*]}; there is no apt-get here to install them with"
    [[ $(id -u) == 0 ]] || fail "missing: ${missing[*]}; run as root, or: sudo apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    [[ -e $WORK/apt-updated ]] || apt-get -qq update >&2
    touch "$WORK/apt-updated"
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >&2
}

is_there() {
    case $1 in
        # A static program needs it: what containers run is compiled here.
        libc6-dev) [[ -e /usr/lib/$(uname -m)-linux-gnu/libc.a ]] ;;
        ca-certificates) [[ -e /etc/ssl/certs/ca-certificates.crt ]] ;;
        *) has "$1" || [[ -x /usr/sbin/$1 ]] ;;
    esac
}

need_engine() {
    [[ $(id -u) == 0 ]] || fail "scenarios on an engine need root (to signal what runs in containers); cargo test does without"
    find_engine
    # The contract suite speaks through the client; newer Debians have it apart from the engine.
    has docker || install_missing "docker:$(apt-cache show docker-cli >/dev/null 2>&1 && echo docker-cli || echo docker.io)"
}

find_engine() {
    if [[ -z ${DEFIB_TEST_PRIVATE_ENGINE:-} ]]; then
        local address
        for address in "${DOCKER_HOST:-}" unix:///var/run/docker.sock; do
            if answers "$address"; then
                export DEFIB_TEST_ENGINE=$address
                say "using the engine at $address"
                return
            fi
        done
    fi
    start_private_engine
}

# Whether an engine answers there. The scenarios speak to a Unix socket only.
answers() {
    [[ $1 == unix://* && -S ${1#unix://} ]] || return 1
    install_missing curl:curl
    [[ $(curl -s -m 5 --unix-socket "${1#unix://}" http://engine/_ping) == OK ]]
}

# --- an engine of our own

start_private_engine() {
    install_missing curl:curl dockerd:docker.io containerd:containerd runc:runc ip:iproute2
    PATH=$PATH:/usr/sbin:/sbin
    local driver network
    # What a machine allows is found by trying: overlay2 on a plain host, fuse-overlayfs or vfs inside a container; no
    # bridge where none may be made, and then the scenarios that probe a container's address say so and are left out.
    for network in own none; do
        # A half-made one goes: the pass for `none` would start the engine on a bridge without an address.
        [[ $network == none ]] || make_bridge || { remove_bridge; continue; }
        for driver in overlay2 fuse-overlayfs vfs; do
            [[ $driver != fuse-overlayfs ]] || has fuse-overlayfs || continue
            if try_engine "$driver" "${BRIDGE:-none}"; then return; fi
        done
        remove_bridge
    done
    tail -n 20 "$WORK/dockerd.log" | sed "s/^/dockerd: /" >&2 || true
    fail "no private engine could be started; the end of the last one's log is above"
}

# A bridge of our own, and no rules: the firewall and the bridge of an engine that may come up beside it stay as they are.
make_bridge() {
    local name=defib$(($$ % 100000))
    ip link add "$name" type bridge 2>/dev/null || return 1
    BRIDGE=$name
    ip addr add "10.213.$(($$ % 250)).1/24" dev "$name" && ip link set "$name" up
}

remove_bridge() {
    [[ -z $BRIDGE ]] || ip link delete "$BRIDGE" 2>/dev/null || true
    BRIDGE=
}

# Starts a dockerd with this storage driver and bridge, and waits until it can run containers.
try_engine() {
    local driver=$1 bridge=$2 home=$WORK/engine
    rm -rf "$home"
    mkdir -p "$home"
    say "starting a private engine (storage $driver, bridge $bridge)"
    containerd_up "$home" || return 1
    # A dockerd without a bridge begins by deleting docker0, whosever that is: it gets a network of its own to do so in.
    local apart=()
    [[ $bridge != none ]] || apart=(unshare --net)
    "${apart[@]}" dockerd --config-file "$home/none.json" -H "unix://$home/docker.sock" --containerd "$home/containerd.sock" \
        --data-root "$home/data" --exec-root "$home/exec" --pidfile "$home/docker.pid" \
        --storage-driver "$driver" --bridge "$bridge" \
        --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false >"$WORK/dockerd.log" 2>&1 &
    PIDS+=($!)
    local pid=$!
    for _ in {1..150}; do
        if answers "unix://$home/docker.sock" || ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.2
    done
    if answers "unix://$home/docker.sock" && runs_containers "$home/docker.sock"; then
        export DEFIB_TEST_ENGINE="unix://$home/docker.sock"
        return 0
    fi
    end_engine
    return 1
}

containerd_up() {
    local home=$1
    printf 'version = 2\nroot = "%s"\nstate = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "%s"\n[ttrpc]\naddress = "%s"\n' \
        "$home/containerd-root" "$home/containerd-state" "$home/containerd.sock" "$home/containerd.sock.ttrpc" >"$home/containerd.toml"
    echo '{}' >"$home/none.json"
    containerd --config "$home/containerd.toml" >"$WORK/containerd.log" 2>&1 &
    PIDS+=($!)
    for _ in {1..100}; do
        [[ -S $home/containerd.sock ]] && return 0
        sleep 0.1
    done
    end_engine
    return 1
}

# An engine can answer and yet not be able to mount or start anything: an empty container shows it.
runs_containers() {
    local api=(curl -s -m 30 --unix-socket "$1")
    mkdir -p "$WORK/empty"
    tar -C "$WORK/empty" -c . | "${api[@]}" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
        "http://engine/images/create?fromSrc=-&repo=defib-test-trial&tag=1" >/dev/null || return 1
    local id
    id=$("${api[@]}" -X POST -H 'Content-Type: application/json' -d '{"Image":"defib-test-trial:1","Cmd":["/none"]}' \
        "http://engine/containers/create" | sed -n 's/.*"Id":"\([0-9a-f]*\)".*/\1/p')
    [[ -n $id ]] || return 1
    # There is nothing to execute in it, and saying just that takes a mounted root, a network and a runtime.
    local said
    said=$("${api[@]}" -X POST "http://engine/containers/$id/start")
    "${api[@]}" -X DELETE "http://engine/containers/$id?force=true" >/dev/null
    "${api[@]}" -X DELETE "http://engine/images/defib-test-trial:1" >/dev/null
    [[ $said == *"no such file or directory"* ]]
}

# --- afterwards

tidy_up() {
    local status=$?
    trap - EXIT INT TERM
    set +e
    if [[ -n ${DEFIB_TEST_ENGINE:-} ]]; then remove_leftovers "${DEFIB_TEST_ENGINE#unix://}"; fi
    end_engine
    remove_bridge
    rm -rf "$WORK" 2>/dev/null || say "left behind: $WORK"
    exit "$status"
}

# Only what carries this run's label; what a killed test could not remove itself.
remove_leftovers() {
    local api=(curl -s -m 60 --unix-socket "$1") filter="filters=%7B%22label%22%3A%5B%22defib.test%3D$DEFIB_TEST_RUN%22%5D%7D" id
    for id in $("${api[@]}" "http://engine/containers/json?all=true&$filter" | grep -o '"Id":"[0-9a-f]*"' | cut -d'"' -f4); do
        "${api[@]}" -X DELETE "http://engine/containers/$id?force=true&v=true" >/dev/null
    done
    for id in $("${api[@]}" "http://engine/images/json?$filter" | grep -o '"Id":"sha256:[0-9a-f]*"' | cut -d'"' -f4); do
        "${api[@]}" -X DELETE "http://engine/images/$id?force=true" >/dev/null
    done
}

# dockerd first, then its containerd: the other way round it would complain for a while.
end_engine() {
    local index pid
    for ((index = ${#PIDS[@]} - 1; index >= 0; index--)); do
        pid=${PIDS[index]}
        kill "$pid" 2>/dev/null || continue
        for _ in {1..100}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -9 "$pid" 2>/dev/null || true
    done
    PIDS=()
    # What the engine mounted below our folder, deepest first, would keep the folder from being removed.
    awk -v below="$WORK/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
        umount -l "$mount" 2>/dev/null || true
    done
}

# Sums over all "test result:" lines; a test that left itself out (tests/shared/left_out.rs) has not passed.
closing_line() {
    local passed failed skipped broken
    passed=$(sum passed)
    failed=$(sum failed)
    skipped=$({ grep -o 'left out: ' "$OUTPUT" || true; } | wc -l)
    broken=$({ grep '^command failed' "$OUTPUT" || true; } | wc -l)
    passed=$((passed - skipped))
    skipped=$((skipped + $(sum ignored)))
    # Each failing command is told of by its tests; one that failed without any is a failure of its own.
    if ((broken > 0 && failed == 0)); then failed=$broken; fi
    local closing="$passed passed, $failed failed"
    ((skipped == 0)) || closing+=", $skipped skipped"
    failed_names
    echo "$closing"
    ((failed == 0 && passed > 0))
}

# Whoever reads the end should not have to look for what failed in thousands of lines.
failed_names() {
    local names
    names=$({ grep -aoE '^test .* \.\.\. FAILED' "$OUTPUT" || true; } | sed -E 's/^test (.*) \.\.\. FAILED$/    \1/' | sort -u)
    [[ -z $names ]] || printf 'failed:\n%s\n' "$names"
}

sum() { grep -a '^test result:' "$OUTPUT" | grep -oE "[0-9]+ $1" | awk '{ total += $1 } END { print total + 0 }' || true; }

main "$@"
