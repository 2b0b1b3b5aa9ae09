# SPDX-License-Identifier: Apache-2.0
# Sourced by the shell tests: sh test.sh GPUC MAKE_FILES MODELS DAMAGE. Each check runs the tool and looks at the exit
# code and at what it printed.
gpuc=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuc-tools-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
"$2" "$dir" || exit 1
cd "$dir" || exit 1
# What drivers have compiled stays for other tests; of the tool's own files each test has its own.
caches=${XDG_CACHE_HOME:-$HOME/.cache}
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$caches/pocl/kcache}
MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR:-$caches}
export POCL_CACHE_DIR MESA_SHADER_CACHE_DIR
HOME=$dir/home
XDG_CACHE_HOME=
TMPDIR=$dir/temporary
mkdir "$HOME" "$TMPDIR" || exit 1
export HOME XDG_CACHE_HOME TMPDIR
unset GPUC_DEBUG
failures=0
checks=0

complain() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "--- stdout"; head -c 2000 out
    echo "--- stderr"; head -c 2000 err
}

# expect CODE PATTERN ARGUMENT...: PATTERN is an extended regular expression that the output must hold.
expect() {
    code=$1 pattern=$2
    shift 2
    checks=$((checks + 1))
    "$gpuc" "$@" >out 2>err
    got=$?
    [ "$got" = "$code" ] || { complain "gpuc $*: exit code $got, expected $code"; return; }
    cat out err | grep -Eq -- "$pattern" || { complain "gpuc $*: nothing matches '$pattern'"; return; }
    # One clear message: a failure starts it with the tool's name, and no memory checker spoke.
    if [ "$code" != 0 ] && [ "$1" != verify ]; then
        [ "$(grep -c '^gpuc: ' err)" = 1 ] || complain "gpuc $*: not one message"
    fi
}

# full CODE PATTERN ARGUMENT...: the same, where no file can grow.
full() {
    code=$1 pattern=$2
    shift 2
    checks=$((checks + 1))
    (trap '' XFSZ; ulimit -f 0; "$gpuc" "$@"; echo "exit code $?") 2>&1 | cat >out
    : >err
    grep -Eq -- "$pattern" out && grep -qx "exit code $code" out || complain "gpuc $* on a full disk"
}

finish() {
    echo "cases: $checks (calls of the tool; $failures failures)"
    [ "$failures" = 0 ]
    exit $?
}
