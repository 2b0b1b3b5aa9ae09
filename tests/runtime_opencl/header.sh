#!/bin/sh
# header.sh INCLUDE CC: gpuc/opencl.h compiles alone, before and after OpenCL's header, whose types it takes, in C and C++.
set -eu
include=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

use='static gpuc_status use(gpuc_runtime *rt, gpuc_session *s, cl_context c, cl_device_id d, cl_command_queue q, cl_mem m, cl_event e)
{
    gpuc_opencl_device_desc desc = GPUC_OPENCL_DEVICE_DESC_INIT;
    gpuc_opencl_buffer b = {m, 0, 0};
    gpuc_device *dev;
    gpuc_ndarray *a;
    int64_t n = 1;
    desc.context = c;
    desc.device = d;
    desc.queue = q;
    GPUC_TRY(gpuc_opencl_adopt(rt, &desc, &dev));
    GPUC_TRY(gpuc_opencl_wrap_buffer(dev, &b, GPUC_FLOAT32, 1, &n, &a));
    return gpuc_opencl_submit(s, 1, &e, &e);
}
extern void *keep;
void *keep = (void *)use;'
ours='#include <gpuc/opencl.h>' theirs='#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>'
printf '%s\nextern int unused;\n' "$ours" >"$work/alone.c"
printf '%s\n%s\n%s\n' "$ours" "$theirs" "$use" >"$work/before.c"
printf '%s\n%s\n%s\n' "$theirs" "$ours" "$use" >"$work/after.c"
for file in alone before after; do
    "$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$include" "$work/$file.c"
    if command -v c++ >/dev/null; then
        c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$include" -x c++ "$work/$file.c"
    fi
done
