# SPDX-License-Identifier: Apache-2.0
# gpuc tune: its log, what kills and mistakes cost, and builds with the log.
. ./lib.sh
model=$3/mnist_cnn/model.onnx
tune() { # expected code, words, options...
    code=$1 words=$2
    shift 2
    expect "$code" "$words" tune "$model" --shape "$shape" --no-wait "$@"
}
# records FILE: how many lines of the log are whole.
records() { grep -c '^{"v":1,.*}$' "$1"; }
shape=$("$gpuc" build "$model" --target c -o open.gpuc >/dev/null 2>&1 && "$gpuc" inspect open.gpuc |
    sed -n 's/^  0  \([^ ]*\)  float32\[[^,]*,\(.*\)\]$/\1=1,\2/p' | head -n 1)

expect 2 '\-\-log FILE' tune "$model" --target c
expect 2 'xgb, sa, random' tune "$model" --target c --log log --search best
expect 2 'time above 0' tune "$model" --target c --log log --time 5x
expect 2 'endless:N' tune "$model" --target c --log log --plant nothing
expect 1 "did you mean 'vulkan'" tune "$model" --target vulcan --log log
expect 1 'cannot run target' tune "$model" --target vulkan --device cpu --log log
expect 1 'left out, since the model leaves sizes' tune "$model" --target c --log log
expect 1 'nowhere' tune "$model" --target c --log nowhere/log
rm -f log

# A configuration that never ends, a wrong result, a crash: each is one trial, and the search goes on.
tune 0 '^1 trials' --target c --log functions --trials 1
functions=$(sed -n 's/^gpuc: \([0-9]*\) functions to tune.*/\1/p' err)
tune 0 "^$((functions + 5)) trials, 3 of them failed" --target c --log log --trials $((functions + 5)) --timeout 4 \
    --search random --plant endless:$((functions + 1)) --plant wrong:$((functions + 2)) --plant crash:$((functions + 4))
[ "$(records log)" = $((functions + 5)) ] || complain 'not a record per trial'
[ "$(grep -c '"status":"ok"' log)" = $((functions + 2)) ] || complain 'not all others were measured'
for status in timeout wrong crash; do
    [ "$(grep -c "\"status\":\"$status\"" log)" = 1 ] || complain "no record of status $status"
done
grep -q 'timeout: took longer than 4 s, and was ended while running' err || complain 'an endless kernel is not told'
grep -q 'wrong: output 0 differs in' err || complain 'a wrong result is not told'
grep -q 'crash: signal 6 .*while running' err || complain 'a crash is not told'

# The log is used, told of, and shown.
expect 0 'tuned' build "$model" --shape "$shape" --target c --tuning-log log -o tuned.gpuc -v
grep -q ' 0 use their default' out || complain 'not all operators are tuned'
expect 0 'schedule: {"lanes".*} from log' inspect tuned.gpuc
expect 0 '"schedule": "{.*} from log"' inspect --json tuned.gpuc
expect 0 '"tuned": 0, "untuned": [1-9]' build "$model" --shape "$shape" --target c -o default.gpuc --json
expect 0 'schedule: default' inspect default.gpuc
grep -q 'from log' out && complain 'a default schedule is said to come from a log'
expect 0 '1 passed' verify --target c --tuning-log log "$3/mnist_cnn"
expect 1 'tuning log.*nothere' build "$model" --target c --tuning-log nothere -o bad.gpuc
expect 0 '' build "$model" --shape "$shape" --target opencl --tuning-log log -o other.gpuc
grep -q "warning: the tuning log has no record for target 'opencl'; it has some for 'c'" err || complain 'another target'

# Messages never become lines of the log.
for closed in '>&-' '<&- 2>&-'; do
    rm -f silent
    checks=$((checks + 1))
    eval '"$gpuc" tune "$model" --shape "$shape" --no-wait --target c --log silent --trials 2 '">out 2>err $closed" ||
        complain "tune fails with $closed"
    [ "$(wc -l <silent)" = 2 ] && [ "$(records silent)" = 2 ] || complain "the log with $closed: $(cat silent)"
done

# Records that do not fit, and lines that are none.
sed '/"rows"/!d; s/"rows":[0-9]*/"rows":999/; s/"status":"[a-z]*"/"status":"ok"/; s/"costs":\[[^]]*\]/"costs":[0.001]/' log >unfit
expect 0 '' build "$model" --shape "$shape" --target c --tuning-log unfit -o unfit.gpuc
grep -q 'warning: unfit: the record of .* does not fit, its default schedule is used: knob rows cannot be 999' err ||
    complain 'a record that does not fit'
cmp -s default.gpuc unfit.gpuc || complain 'records that do not fit change the package'
{ head -n 2 log; echo garbage; head -c 100 log; } >torn
expect 0 '' build "$model" --shape "$shape" --target c --tuning-log torn -o torn.gpuc
grep -q 'torn:3: no tuning record' err || complain 'garbage in a log'
grep -q 'torn:4: the last line was cut off' err || complain 'a torn line'

# A Relay program is tuned and built with its log, too.
cat >prog.rly <<'E'
def @twice(%x) { add(%x, %x) }
def @main(%x: Tensor[(24, 40), float32], %w: Tensor[(9, 40), float32]) { let %y = nn.dense(%x, %w); @twice(%y) }
E
expect 0 '^3 trials, 0 of them failed' tune prog.rly --no-wait --target c --log program --trials 3
expect 0 'tuned' build prog.rly --target c --tuning-log program -o program.gpuc -v
expect 0 'from program' inspect program.gpuc
echo 'def @main(%x: int32, %c: bool) { if (%c) { %x } else { %x + 1 } }' >branch.rly
expect 1 '^gpuc: branch.rly:1:.*graphs only can be built, but @main has an if' tune branch.rly --target c --log program

# The best of logs.
expect 0 "best: $functions of [0-9]* records" tune --pick-best log --log best
expect 0 '' build "$model" --shape "$shape" --target c --tuning-log best -o best.gpuc
"$gpuc" inspect best.gpuc | grep 'from best' | sed 's/ from .*//' >a
"$gpuc" inspect tuned.gpuc | grep 'from log' | sed 's/ from .*//' | cmp -s - a || complain 'the best records are others'
expect 1 'nothere' tune --pick-best nothere --log best
measured() { # rows, seconds: a record
    printf '{"v":1,"workload":"0123456789abcdef","target":"c","config":{"rows":%s},"costs":[%s],"status":"ok"}\n' "$1" "$2"
}
{ measured 1 0.010; measured 2 0.004; measured 4 0.006; measured 1 0.0105; measured 4 0.0063; } >lucky
expect 0 'picked: 1 of 5' tune --pick-best lucky --gain 39 --log picked
grep -q '"rows":4' picked || complain 'what was not confirmed counts'
expect 0 'picked: 0 of 5' tune --pick-best lucky --gain 41 --log picked
head -n 3 lucky >once
expect 0 'picked: 1 of 3' tune --pick-best once --log picked
grep -q '"rows":2' picked || complain 'the best is not picked'
cp log again
tune 0 '^[0-9]* trials' --target c --log again --confirm
[ $((($(records again) - $(records log)) % 2)) = 0 ] || complain 'configurations are not confirmed in pairs'
expect 2 'too much' tune "$model" --pick-best log --log best

# Killed at any time, it goes on from its log: nothing is measured twice, and no child is left.
: >killed
for records in 1 3; do
    "$gpuc" tune "$model" --shape "$shape" --no-wait --target c --log killed --trials 1000 --seed 5 >out 2>err &
    child=$!
    tenths=0
    while [ "$(records killed)" -lt $records ] && [ $tenths -lt 300 ]; do
        sleep 0.1
        tenths=$((tenths + 1))
    done
    kill -KILL $child
    wait $child 2>/dev/null
done
before=$(records killed)
[ -n "$(ls -d "$TMPDIR"/gpuc-tune-* 2>/dev/null)" ] || complain 'a kill leaves no folder: this test tests nothing'
living=$TMPDIR/gpuc-tune-living
mkdir "$living" && echo x >"$living/file"
exec 9>"$living/.gpuc-lock" && flock 9
[ "$before" -gt 0 ] || complain 'nothing was recorded before the kill'
tune 0 '^5 trials' --target c --log killed --trials 5 --seed 5
[ "$(ls -d "$TMPDIR"/gpuc-tune-*)" = "$living" ] || complain "folders of ended processes stay, or others go: $(ls "$TMPDIR")"
exec 9>&-
[ "$(records killed)" = $((before + 5)) ] || complain 'the log was not continued'
[ "$(grep -o '"workload":.*"costs"' killed | sort | uniq -d | wc -l)" = 0 ] || complain 'a trial was repeated'
"$gpuc" tune "$model" --shape "$shape" --no-wait --target c --log interrupted --trials 1000 >out 2>err &
child=$!
sleep 1
kill -TERM $child
wait $child
[ $? = 143 ] || complain 'an interrupt does not end it'
[ -z "$(ls -d "$TMPDIR"/gpuc-tune-* 2>/dev/null)" ] || complain "folders stay: $(ls "$TMPDIR")"

# On devices, from simple schedules on.
for target in opencl/pocl vulkan/llvmpipe; do
    "$gpuc" devices 2>/dev/null | grep -q "^${target%/*}:0" || continue
    tune 0 '^[0-9]* trials' --target $target --log device --trials $((functions + 2)) --ignore-default
    grep -q '"status":"ok"' device || complain "nothing works for $target"
    grep -q "\"target\":\"$target" device || complain "no record for $target"
    expect 0 '1 passed' verify --target $target --tuning-log device "$3/mnist_cnn"
done
finish
