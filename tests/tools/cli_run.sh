# SPDX-License-Identifier: Apache-2.0
# Commands that need no compiler.
. ./lib.sh

# Usage
expect 0 'usage: gpuc' --help
expect 0 '^gpuc [0-9]+\.[0-9]+' --version
expect 2 "did you mean 'run'" rnu
expect 2 "unknown option '--foo'" --foo
for c in run bench compare inspect devices; do expect 0 "usage: gpuc $c" $c --help; done
expect 2 "did you mean '--device'" run id.gpuc --devcie cpu
expect 2 'package is missing' run
expect 2 'is too much' run a b
expect 2 'needs an argument' run id.gpuc --device
expect 2 'takes no argument' run id.gpuc --json=1
expect 2 'must be in' run id.gpuc --repeat 0
expect 2 'needs an integer' run id.gpuc --repeat 1x
expect 2 'needs NAME=FILE' run id.gpuc --input x.npy
expect 2 'needs NAME=1,3' run id.gpuc --shape x=1,,2
expect 2 'format is npy or pb' run id.gpuc --format png
expect 2 'is too much' devices x
grep -q '^usage' out && complain 'a usage error printed to stdout'

# Devices
expect 0 'cpu:0' devices
expect 0 '"kind": "cpu"' devices --json

# Running
expect 0 "output 0 'first' float32\[2,3\]: min 0.5, max 5.5, mean 3" run id.gpuc --input x=x.npy --input y/b=y.npy -o o
cmp -s o/output_0.npy x.npy && cmp -s o/output_1.npy y.npy || complain 'outputs differ from the inputs'
grep -Fqx '["first", "second \"out\""]' o/names.json || complain 'names.json'
expect 0 'output 1' run id.gpuc --inputs named
expect 0 'output 1' run id.gpuc --inputs set -o pb --format pb
mkdir back && cp pb/output_0.pb back/x.pb
expect 0 'mean 3' run id.gpuc --inputs back --random 1
expect 0 '"runs": 3' run id.gpuc --random 5 --repeat 3 --json
expect 0 'median' run id.gpuc --random 5 --repeat 3
expect 0 'output 0' run id.gpuc --random 5 -o r1
expect 0 'output 0' run id.gpuc --random 5 -o r2
cmp -s r1/output_0.npy r2/output_0.npy || complain 'random inputs differ from run to run'
expect 0 'running target' run two.gpuc --random 1
expect 0 'result  agrees' bench id.gpuc --repeat 3 --device cpu
expect 0 '"result_ok": true' bench id.gpuc --repeat 3 --json

# Inputs that are wrong
expect 1 "'y/b' int64\[2\] is missing" run id.gpuc --input x=x.npy
expect 1 "'x' float32\[2,3\], 'y/b' int64\[2\] are missing" run id.gpuc
expect 1 "has no input 'z'" run id.gpuc --inputs surplus
expect 1 "has no input 'q'" run id.gpuc --random 1 --input q=x.npy
expect 1 'is given twice' run id.gpuc --random 1 --input x=x.npy --input x=x.npy
expect 1 'big.npy.*big-endian.*newbyteorder' run id.gpuc --random 1 --input x=big.npy
expect 1 'fortran.npy.*Fortran order.*ascontiguousarray' run id.gpuc --random 1 --input x=fortran.npy
expect 1 "double.npy' holds float64\[2,3\], but input 'x' is float32\[2,3\]; convert" run id.gpuc --random 1 --input x=double.npy
expect 1 "wrong.npy' holds float32\[3,2\], but input 'x' is float32\[2,3\]" run id.gpuc --random 1 --input x=wrong.npy
expect 1 'short.npy.*cut off' run id.gpuc --random 1 --input x=short.npy
expect 1 "text.npy.*'<U3'" run id.gpuc --random 1 --input x=text.npy
expect 1 'noise.npy.*not a .npy' run id.gpuc --random 1 --input x=noise.npy
expect 1 'noise.pb' run id.gpuc --random 1 --input x=noise.pb
expect 1 'nothere.npy' run id.gpuc --random 1 --input x=nothere.npy
expect 1 'noise.npy.*not a whole .npz' run id.gpuc --random 1 --inputs noise.npy
expect 1 'nothere' run id.gpuc --inputs nothere

# Devices that are not there
expect 1 "did you mean 'vulkan'" run id.gpuc --device vulcan
expect 1 'cpu:7' run id.gpuc --random 1 --device cpu:7
expect 1 "holds nothing for cpu devices; its targets are 'vulkan'" run vulkan.gpuc --random 1 --device cpu
expect 1 'max_num_threads' run huge.gpuc --random 1

# Packages that are damaged
head -c 200 id.gpuc >cut.gpuc
expect 1 'cut.gpuc' run cut.gpuc --random 1
size=$(wc -c <id.gpuc)
for at in 20 100 $((size / 2)) $((size - 70)); do
    cp id.gpuc flip.gpuc
    printf '\377' | dd of=flip.gpuc bs=1 seek="$at" conv=notrunc 2>/dev/null
    cmp -s id.gpuc flip.gpuc && continue
    expect 1 'flip.gpuc' inspect flip.gpuc
done
expect 1 'noise.npy' inspect noise.npy
expect 1 'nothere.gpuc.*No such file' run nothere.gpuc

# Inspection
expect 0 "target 'c'" inspect id.gpuc
expect 0 "y/b  int64\[2\]" inspect id.gpuc --check
expect 0 'made by a test' inspect id.gpuc
expect 0 '"peak_bytes": 0' inspect id.gpuc --json

# Files that cannot be written
expect 1 'cannot' run id.gpuc --random 1 -o x.npy
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    expect 1 'locked' run id.gpuc --random 1 -o locked
fi
if [ -w /dev/full ]; then
    "$gpuc" inspect id.gpuc >/dev/full 2>err && complain 'a full disk was not noticed'
    checks=$((checks + 1))
fi

full 1 "^gpuc: cannot write 'full/output_0.npy': File too large" run id.gpuc --random 1 -o full
[ -z "$(ls -A full)" ] || complain "left on a full disk: $(ls -A full)"

# A stream that is closed never becomes a file that is written.
run_closed() { "$gpuc" run id.gpuc --input x=x.npy --input y/b=y.npy -o "$1"; }
run_closed closed0 >out 2>err <&- || complain 'fails without stdin'
run_closed closed1 2>err >&- || complain 'fails without stdout'
run_closed closed2 >out 2>&- || complain 'fails without stderr'
run_closed closed3 2>&- >&- <&- || complain 'fails without streams'
for n in 0 1 2 3; do
    checks=$((checks + 1))
    cmp closed$n/output_0.npy o/output_0.npy && cmp closed$n/output_1.npy o/output_1.npy && cmp closed$n/names.json o/names.json ||
        complain "closed streams ($n) change files"
done

# Without a home, or with one that cannot be written, drivers keep their files elsewhere, and no device is lost.
devices() {
    grep -c 'not available' out
}
expect 0 'cpu:0' devices
there=$(devices)
for home in /proc "$dir/nohome" ''; do
    HOME=$home
    expect 0 'output 0' run id.gpuc --random 1
    expect 0 'cpu:0' devices
    [ "$(devices)" = "$there" ] || complain "with HOME='$home' there are other devices"
done
HOME=$dir/home
[ -e nohome ] && complain 'a home was made'
[ "$(ls -ld "$TMPDIR/gpuc-cache-$(id -u)" | cut -c 1-10)" = drwx------ ] || complain 'no folder for caches'
finish
