/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's names in a runtime's registry. */
#include <string.h>

#include "compile/op_function.h"
#include "compile/program.h"
#include "runtime/driver.h"

typedef struct build_args {
    gpuc_runtime *rt;
    const char *kind, *target;
    gpuc_device *device;
    const gpuc_tir_func *func;
    gpuc_module *out;
} build_args;

static void run_build(gpuc_ctx *ctx, void *arg)
{
    build_args *b = arg;
    const gpuc_target *t = gpuc_target_parse(ctx, b->target, b->device);
    if (strcmp(gpuc_target_kind(t), b->kind))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target.build.%s: the target is '%s'", b->kind, b->target);
    b->out = gpuc_build_func(ctx, b->rt, b->device, t, b->func);
}

typedef struct build_self {
    gpuc_runtime *rt;
    const char *kind;
} build_self;

/* target.build.<kind>(context handle, function handle, target text, device) -> module */
static gpuc_status build_target(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    const build_self *s = self;
    if (num_args != 4 || args[0].kind != GPUC_VALUE_HANDLE || args[1].kind != GPUC_VALUE_HANDLE ||
        args[2].kind != GPUC_VALUE_STRING || args[3].kind != GPUC_VALUE_DEVICE || !ret)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "target.build.%s takes a context, a function, a target string and a device",
                         s->kind);
    static const char *const names[] = {"context", "function", "target string", "device"};
    const void *given[] = {args[0].as.handle, args[1].as.handle, args[2].as.string, args[3].as.device};
    for (int i = 0; i < 4; i++)
        if (!given[i])
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "target.build.%s: the %s is NULL", s->kind, names[i]);
    build_args b = {.rt = s->rt,
                    .kind = s->kind,
                    .target = args[2].as.string,
                    .device = args[3].as.device,
                    .func = args[1].as.handle};
    GPUC_TRY(gpuc_ctx_protect(args[0].as.handle, run_build, &b));
    *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = b.out};
    return NULL;
}

static void free_self(void *self)
{
    build_self *s = self;
    gpuc_mem_free(gpuc_runtime_allocator(s->rt), s, sizeof *s);
}

gpuc_status gpuc_compiler_register(gpuc_runtime *rt)
{
    for (size_t i = 0; i < gpuc_target_kind_count(NULL); i++) {
        char name[64] = "target.build.";
        strcat(name, gpuc_target_kind_at(NULL, i)->name);
        build_self *s = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *s);
        if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", name);
        *s = (build_self){.rt = rt, .kind = gpuc_target_kind_at(NULL, i)->name};
        gpuc_function *f;
        gpuc_status status = gpuc_function_create(rt, build_target, s, free_self, NULL, &f);
        if (status) {
            free_self(s);
            return status;
        }
        status = gpuc_registry_set(rt, name, f, false);
        gpuc_function_release(f);
        GPUC_TRY(status);
    }
    return gpuc_compile_op_functions_register(rt);
}
