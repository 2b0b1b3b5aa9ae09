# SPDX-License-Identifier: Apache-2.0
# examples.sh GPUC SOURCE: runs each program of examples/relay in the interpreter, with NAME.PARAMETER.json as its inputs,
# and compares what it prints with NAME.out. Then: files in and out, and what is wrong with them.
gpuc=$1 source=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuc-relay-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
unset GPUC_DEBUG
failures=0 cases=0

complain() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    head -c 2000 "$dir/out" "$dir/err"
}

# expect CODE TEXT ARGUMENT...: TEXT stands in what it prints.
expect() {
    code=$1 text=$2
    shift 2
    cases=$((cases + 1))
    "$gpuc" run "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" = "$code" ] || { complain "gpuc run $*: exit code $got, expected $code"; return; }
    cat "$dir/out" "$dir/err" | grep -Fq -- "$text" || complain "gpuc run $*: nothing has '$text'"
}

cd "$source/examples/relay" || exit 1
for program in *.rly; do
    name=${program%.rly}
    set --
    for input in "$name".*.json; do
        [ -f "$input" ] || continue
        parameter=${input#"$name".}
        set -- "$@" --input "${parameter%.json}=$input"
    done
    expect 0 "$(cat "$name.out")" --interpret "$program" "$@"
    cmp -s "$dir/out" "$name.out" || complain "$name.out has another result"
done
[ "$cases" -ge 12 ] || complain "only $cases programs"

# Tensors go to files, and come from them: the network's output is the state of the next run.
set -- --interpret rnn.rly --input xs=rnn.xs.json --input w=rnn.w.json --input u=rnn.u.json --input b=rnn.b.json
expect 0 '["output_0.npy", {"List": ["output_1.npy", "output_2.npy"]}]' "$@" --input h=rnn.h.json --output "$dir/o"
cmp -s "$dir/out" "$dir/o/result.json" || [ "$(cat "$dir/out")" = "$(cat "$dir/o/result.json")" ] || complain result.json
cmp -s "$dir/o/output_0.npy" "$dir/o/output_2.npy" || complain 'the last state differs from the result'
expect 0 '[[[2.5, 0.5, 1.25], [2.25, 0, 0]]' "$@" --input "h=$dir/o/output_0.npy"
echo '"o/output_0.npy"' >"$dir/h.json"
expect 0 '[[[2.5, 0.5, 1.25], [2.25, 0, 0]]' "$@" --input "h=$dir/h.json"

echo '[0, 0]' >"$dir/two.json"
echo '[[1, 2, 3]]' >"$dir/m.json"
# Another function, and what is wrong.
echo '{"List": [1, 5]}' >"$dir/xs.json"
expect 0 '[3, 4]' --interpret fold.rly --entry moments --input xs="$dir/xs.json"
expect 1 "the input 'xs' is missing" --interpret fold.rly
expect 1 "@main has no parameter 'ys'" --interpret fold.rly --input ys="$dir/xs.json"
expect 1 "'xs' is given twice" --interpret fold.rly --input xs="$dir/xs.json" --input xs="$dir/xs.json"
expect 1 'nothere' --interpret fold.rly --entry nothere
expect 1 "$dir/bad.json" --interpret fold.rly --input xs="$dir/bad.json"
echo '{"List": [1, [5]]}' >"$dir/bad.json"
expect 1 "$dir/bad.json:1:14: a number is expected" --interpret fold.rly --input xs="$dir/bad.json"
printf '{"List": []}\0 [1]' >"$dir/bad.json"
expect 1 "$dir/bad.json: byte 12 is 0, which no text has" --interpret fold.rly --input xs="$dir/bad.json"
printf 'def @main() { 1 }\0 def' >"$dir/bad.rly"
expect 1 "$dir/bad.rly: byte 17 is 0, which no text has" --interpret "$dir/bad.rly"
set -- --interpret rnn.rly --input xs=rnn.xs.json --input w=rnn.w.json --input u=rnn.u.json
expect 1 "$dir/two.json:1:1: the value is Tensor[(2), float32], it must be Tensor[(3), float32]" "$@" \
    --input h=rnn.h.json --input b="$dir/two.json"
expect 1 'dimension 0 is 2, it must be 1, as before for batch' "$@" --input b=rnn.b.json --input h="$dir/m.json"
expect 2 'need --interpret' x.gpuc --entry main
for option in '--device cpu' '--inputs .' '--random 1' '--shape x=1' '--format pb' '--repeat 2' '--threads 2' --check --json; do
    expect 2 "${option%% *}" --interpret fold.rly $option
done
printf 'def @main(%%n: int32) -> int32 {\n  1 + @main(%%n) }\n' >"$dir/loop.rly"
echo 1 >"$dir/n.json"
expect 1 "$dir/loop.rly:2:" --interpret "$dir/loop.rly" --memory 1M --input n="$dir/n.json"
expect 1 'out of memory' --interpret "$dir/loop.rly" --memory 1M --input n="$dir/n.json"

echo "cases: $cases (calls of the tool; $failures failures)"
[ "$failures" = 0 ]
