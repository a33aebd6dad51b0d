#!/usr/bin/env bash
# What we depend on, and may: licences, banned crates, sources. Prints crates that are there in several versions.
#
# A check of our own, because all it takes is one pass over `cargo metadata`; cargo-deny would be compiled for minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Each can be met by shipping its text. Copyleft is not here on purpose.
ALLOWED="MIT Apache-2.0 Apache-2.0-WITH-LLVM-exception BSD-2-Clause BSD-3-Clause ISC Zlib Unicode-3.0 0BSD CC0-1.0 Unlicense
BSL-1.0 MIT-0 CDLA-Permissive-2.0"

# A line each: the crate, and why not.
BANNED="openssl-sys one TLS only, rustls; nothing of the host's is linked
native-tls one TLS only, rustls
aws-lc-sys ring is the one provider; this needs cmake and minutes to compile
chrono jiff is the one for dates"

TARGET=x86_64-unknown-linux-gnu
failures=0
complain() { echo "licences: $*" >&2; failures=$((failures + 1)); }

main() {
    local packages
    command -v jq >/dev/null || { echo "licences: jq is missing; apt-get install jq" >&2; exit 2; }
    packages=$(cargo metadata --format-version 1 --locked --filter-platform "$TARGET" |
        jq -r '.packages[] | select(.source != null) | [.name, .version, (.license // "none"), .source] | @tsv')
    check_licences "$packages"
    check_bans "$packages"
    check_sources "$packages"
    print_duplicates "$packages"
    echo "licences: $(wc -l <<<"$packages") crates looked at, $failures complaints"
    ((failures == 0))
}

check_licences() {
    local name version licence
    while IFS=$'\t' read -r name version licence _; do
        allowed "$licence" || complain "$name $version is under \"$licence\""
    done <<<"$1"
}

# An SPDX expression holds where it is true with each allowed licence put as 1 and every other as 0.
allowed() {
    local expression word sum=
    expression=${1//\// OR }
    expression=${expression// WITH /-WITH-}
    expression=${expression//(/ ( }
    expression=${expression//)/ ) }
    for word in $expression; do
        case $word in
            OR) sum+=" || " ;;
            AND) sum+=" && " ;;
            "(" | ")") sum+=$word ;;
            *) if grep -qxF -- "$word" <<<"${ALLOWED//[[:space:]]/$'\n'}"; then sum+=1; else sum+=0; fi ;;
        esac
    done
    ((sum))
}

check_bans() {
    local crate why version
    while read -r crate why; do
        # shellcheck disable=SC2013  # versions are words
        for version in $(awk -F"\t" -v crate="$crate" '$1 == crate { print $2 }' <<<"$1"); do
            complain "$crate $version is banned ($why); it comes by:"
            cargo tree --locked --target "$TARGET" -i "$crate@$version" --depth 3 >&2
        done
    done <<<"$BANNED"
}

# What is built must be what the lock file's checksums are of.
check_sources() {
    local name source
    while IFS=$'\t' read -r name _ _ source; do
        [[ $source == "registry+https://github.com/rust-lang/crates.io-index" ]] || complain "$name comes from $source"
    done <<<"$1"
}

# Printed, not refused: we do not choose what our dependencies depend on, but we want to see it grow.
print_duplicates() {
    cut -f1,2 <<<"$1" | sort -u | awk -F'\t' '
        { split($2, part, "."); major = part[1] > 0 ? part[1] : part[1] "." part[2]
          if (!(($1, major) in seen)) { seen[$1, major] = 1; count[$1]++; versions[$1] = versions[$1] " " $2 } }
        END { for (name in count) if (count[name] > 1) print "licences: several versions of " name ":" versions[name] }' | sort
}

main
