#!/bin/sh
# bench/tune.sh [--time SECONDS] [--runs N] [--net TITLE] [--log FILE] [TARGET]
# Tunes a network of the benchmark (squeezenet1_1) for a target (opencl/pocl) from the simplest schedules on, in N runs (3)
# that share the time (600 s) and of which all but the last are killed; then measures it with the log of that, and with
# tuning/TARGET.jsonl. Fails below 80% of the speed that the latter gives. What is measured runs as $RUN COMMAND..., if
# that is set.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
seconds=600 runs=3 net=squeezenet1_1 own=build/bench/tune.jsonl target=opencl/pocl
while [ $# -gt 0 ]; do
    case $1 in
    --time) seconds=$2; shift ;;
    --runs) runs=$2; shift ;;
    --net) net=$2; shift ;;
    --log) own=$2; shift ;;
    --help) sed -n 's/^# //p' "$0" | head -n 6; exit 0 ;;
    -*) echo "bench/tune.sh: no option $1" >&2; exit 2 ;;
    *) target=$1 ;;
    esac
    shift
done
work=build/bench
mkdir -p $work
build_preset release OFF gpuc gpuc-bench >&2
gpuc=build/release/tools/gpuc/gpuc bench=build/release/bench/gpuc-bench
shipped=tuning/$(echo "$target" | tr '/ ' '--').jsonl
model=$($bench --list | sed -n "s/^$net	//p")
[ "$model" ] || { echo "bench/tune.sh: no network '$net'" >&2; exit 2; }

records() { cat "$own" 2>/dev/null | grep -c '^{.*}$' || true; }
rm -f "$own"
part=$((seconds / runs)) run=1
while [ $run -le "$runs" ]; do
    limit=$part
    [ $run = "$runs" ] || limit=$((part * 2)) # it does not end by itself
    before=$(records)
    # shellcheck disable=SC2086
    ${RUN:-} timeout -s KILL $((part + 5)) $gpuc tune $model --target "$target" --ignore-default --time ${limit}s \
        --log "$own" </dev/null >$work/tune.out 2>&1 || true
    echo "run $run of $runs, $part s: $(($(records) - before)) records, $(records) in all"
    [ "$(records)" -gt "$before" ] || { cat $work/tune.out; exit 1; }
    run=$((run + 1))
done
[ "$(grep -o '"workload":.*"costs"' "$own" | sort | uniq -d | wc -l)" = 0 ] || { echo 'a trial was made again'; exit 1; }

measure() { # a log: seconds of the network
    # shellcheck disable=SC2086
    ${RUN:-} $bench --no-peers --pin --quick --nets="$net" --work $work --json $work/tune.json --tuning-log "$1" "$target" >/dev/null
    sed -n 's/.*, tuned".*"median_seconds": \([0-9.]*\),.*/\1/p' $work/tune.json
}
for _ in 1 2 3; do
    echo "$(measure "$own") $(measure "$shipped")"
done | awk -v net="$net" -v shipped="$shipped" '
    NF == 2 { if (!found || $1 < found) found = $1; if (!best || $2 < best) best = $2 }
    END {
        if (!found || !best) { print "nothing was measured"; exit 1 }
        printf "%s: %.2f ms, with %s %.2f ms: %.0f%% of its speed\n", net, found * 1e3, shipped, best * 1e3, 100 * best / found
        exit best / found < 0.8
    }'
