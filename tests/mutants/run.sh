#!/usr/bin/env bash
# Shows that the referee sees. Each patch beside this file breaks one rule in a copy of the product; the simulation of that
# copy must then break the same rule, at a seed that is clean without the patch.
#
#   tests/mutants/run.sh              all
#   tests/mutants/run.sh NAME…        only these
#
# A patch begins with `Rule:` (the rule that must be seen broken; more than one where any of them will do) and `Breaks:`. One
# that does not apply, does not build or is not caught fails the run. The copy stands always in the same place, so that cargo
# builds anew only what a patch touches.
#
#   DEFIB_MUTANT_SEEDS=N              so many seeds at most for each (2000)
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
SEEDS=${DEFIB_MUTANT_SEEDS:-2000}
# Seeds between two looks at what was found, and failing seeds after which to look sooner.
CHUNK=250
ENOUGH=8
# A chunk takes seconds; what takes so long hangs.
CHUNK_WITHIN=600

WORK=$ROOT/target/mutants
TREE=$WORK/tree
LOG=$WORK/log
CLEAN=$WORK/clean
export CARGO_TARGET_DIR=$WORK/target
# The copy is no repository, and git must not take it for a part of the one around it.
export GIT_CEILING_DIRECTORIES=$WORK

fail() { printf 'tests/mutants/run.sh: %s\n' "$*" >&2; exit 2; }

main() {
    local name names=("$@") passed=0 failed=0
    if ((${#names[@]} == 0)); then
        for name in "$HERE"/*.patch; do names+=("$(basename "$name" .patch)"); done
    fi
    for name in "${names[@]}"; do
        [[ -f $HERE/$name.patch ]] || fail "there is no tests/mutants/$name.patch"
    done
    mkdir -p "$TREE"
    # Two runs would patch the same copy. What a killed one left at work holds the lock too.
    exec 9>"$WORK/lock"
    flock -n 9 || fail "another run is at work in $WORK"
    sync_tree
    local binary
    binary=$(build) || { tail -n 40 "$LOG" >&2; fail "the product does not build, even without a patch"; }
    cp "$binary" "$CLEAN"
    row mutant rule "caught by" s
    for name in "${names[@]}"; do
        if try "$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    done
    local word=ok
    ((failed == 0)) || word=FAILED
    echo "test result: $word. $passed passed; $failed failed; 0 ignored"
    echo "$passed passed, $failed failed"
    ((failed == 0))
}

row() { printf '%-28s %-6s %-44s %5s\n' "$@"; }

# The copy is as the repository's files are now. What is the same is left alone: cargo goes by the time of the last change.
sync_tree() {
    local file
    while IFS= read -r -d '' file; do
        [[ -f $ROOT/$file ]] || continue
        cmp -s "$ROOT/$file" "$TREE/$file" || { mkdir -p "$TREE/$(dirname "$file")" && cp "$ROOT/$file" "$TREE/$file"; }
    done < <(files)
    while IFS= read -r -d '' file; do
        [[ -f $ROOT/$file ]] || rm -f "$TREE/$file"
    done < <(cd "$TREE" && find . -type f -printf '%P\0')
}

files() { git -C "$ROOT" ls-files -z --cached --others --exclude-standard; }

# Builds the copy's simulation and says where it is.
build() {
    (cd "$TREE" && cargo test --profile simulation --test simulate --no-run) >"$LOG" 2>&1 || return 1
    local binary
    binary=$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$LOG")
    [[ $binary == /* ]] || binary=$TREE/$binary
    echo "$binary"
}

# One mutant, from patch to row.
try() {
    local name=$1 patch=$HERE/$1.patch begun=$SECONDS rules binary how status=0
    rules=$(sed -n 's/^Rule: *//p' "$patch")
    if [[ -z $rules ]]; then
        how="has no line that begins with \`Rule:\`" status=1
    elif grep '^+++ ' "$patch" | grep -qv '^+++ b/src/'; then
        how="touches more than src/" status=1
    elif ! (cd "$TREE" && git apply -C1 "$patch") 2>"$LOG"; then
        how="does not apply" status=1
    elif ! binary=$(build); then
        how="does not build" status=1
    else
        how=$(hunt "$binary" "$rules") || status=1
    fi
    if [[ $how == does\ not* ]]; then tail -n 20 "$LOG" >&2; fi
    row "$name" "$rules" "$how" $((SECONDS - begun))
    sync_tree
    return "$status"
}

# Runs seeds until one breaks a rule of these that holds there without the patch.
hunt() {
    local binary=$1 rules=$2 from=1 seed rule last failing other=
    while ((from <= SEEDS)); do
        local seeds=$((SEEDS - from + 1))
        ((seeds <= CHUNK)) || seeds=$CHUNK
        timeout "$CHUNK_WITHIN" "$binary" --quiet --from "$from" --seeds "$seeds" --stop-at "$ENOUGH" >"$LOG" 2>&1 || true
        grep -q '^test result:' "$LOG" || { echo "breaks the simulation itself (seeds from $from)"; return 1; }
        last=0 failing=0
        while read -r seed rule _; do
            if ((seed != last)); then failing=$((failing + 1)); fi
            last=$seed
            if [[ " ${rules//,/ } " == *" $rule "* ]] && "$CLEAN" --seed "$seed" >/dev/null 2>&1; then
                echo "$rule at seed $seed"
                return 0
            fi
            [[ -n $other ]] || other=", only $rule at seed $seed"
        done < <(sed -n 's/^seed \([0-9]*\): /\1 /p' "$LOG")
        # A run that was stopped early has judged every seed up to the last one that failed.
        if ((failing >= ENOUGH)); then from=$((last + 1)); else from=$((from + seeds)); fi
    done
    echo "NOT CAUGHT within $SEEDS seeds$other"
    return 1
}

main "$@"
