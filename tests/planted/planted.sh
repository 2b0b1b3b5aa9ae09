# SPDX-License-Identifier: Apache-2.0
# usage: planted.sh PROGRAM MISTAKE. The program must end with a failure, and its report must name the mistake.
case $2 in
overflow) report='AddressSanitizer: heap-buffer-overflow' ;;
stale) report='AddressSanitizer: heap-use-after-free' ;;
leak) report='LeakSanitizer: detected memory leaks' ;;
signed) report='runtime error: signed integer overflow' ;;
shift) report='runtime error: shift exponent 32 is too large' ;;
index) report='runtime error: index 4 out of bounds' ;;
null) report='runtime error: member access within null pointer' ;;
*) echo "no mistake '$2'"; exit 2 ;;
esac
unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
text=$("$1" "$2" 2>&1)
code=$?
echo "$text"
[ $code != 0 ] || { echo "the program went on after the mistake"; exit 1; }
case $text in
*"$report"*) ;;
*) echo "the report does not say '$report'"; exit 1 ;;
esac
