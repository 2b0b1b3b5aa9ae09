#!/bin/sh
# tuning/make.sh [--time T] [--nets WORD]... [--raw DIR] [TARGET]...
# Tunes the networks of the benchmark (those with a WORD in the title; else all that have a goal) for the software drivers,
# T (5m) for each on each target, and makes tuning/TARGET.jsonl of it: what is 5% faster than the default schedules. All
# trials are kept in DIR (build/tuning), and none is made again: what is there is gone on with, and 0s only picks anew.
# Then prints each network with and without the log. Everything that is measured runs as $RUN COMMAND..., if that is set.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
seconds=5m words= raw=build/tuning
while [ $# -gt 0 ]; do
    case $1 in
    --time) seconds=$2; shift ;;
    --nets) words="$words $2"; shift ;;
    --raw) raw=$2; shift ;;
    --help) sed -n 's/^# //p' "$0" | head -n 5; exit 0 ;;
    -*) echo "tuning/make.sh: no option $1" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- opencl/pocl vulkan/llvmpipe
words=${words:-resnet squeezenet mobilenet bert_tiny lstm_text}
build_preset release gpuc gpuc-bench >&2
gpuc=build/release/tools/gpuc/gpuc bench=build/release/bench/gpuc-bench
mkdir -p "$raw"
for target in "$@"; do
    name=$(echo "$target" | tr '/ ' '--')
    for word in $words; do
        [ "$seconds" = 0s ] && continue
        $bench --list | sed -n "s/^[^	]*$word[^	]*	//p" | while read -r model shapes; do
            # shellcheck disable=SC2086
            ${RUN:-} $gpuc tune "$model" $shapes --target "$target" --time "$seconds" --log "$raw/$name.jsonl" </dev/null
            # shellcheck disable=SC2086
            ${RUN:-} $gpuc tune "$model" $shapes --target "$target" --confirm --log "$raw/$name.jsonl" </dev/null
        done
    done
    $gpuc tune --pick-best "$raw/$name.jsonl" --gain 5 --log "tuning/$name.jsonl"
    for word in $words; do
        ${RUN:-} $bench --no-peers --pin --nets="$word" --work "$raw" --tuning-log "tuning/$name.jsonl" "$target"
    done
done
