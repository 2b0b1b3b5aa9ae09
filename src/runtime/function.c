/* SPDX-License-Identifier: Apache-2.0 */
/* Implements packed functions. */
#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

struct gpuc_function {
    gpuc_runtime *runtime;
    atomic_size_t refs;
    gpuc_packed_fn fn;
    void *self;
    void (*free_self)(void *self);
    gpuc_module *owner;
};

gpuc_status gpuc_function_create(gpuc_runtime *rt, gpuc_packed_fn fn, void *self,
                                 void (*free_self)(void *self), gpuc_module *owner, gpuc_function **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(fn);
    gpuc_function *f = gpuc_mem_alloc(rt->allocator, sizeof *f);
    if (!f) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a function");
    f->runtime = rt;
    atomic_init(&f->refs, 1);
    f->fn = fn;
    f->self = self;
    f->free_self = free_self;
    f->owner = owner ? gpuc_module_retain(owner) : NULL;
    gpuc_runtime_pin(rt);
    *out = f;
    return NULL;
}

gpuc_function *gpuc_function_retain(gpuc_function *f)
{
    if (f) atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void gpuc_function_release(gpuc_function *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_runtime *rt = f->runtime;
    if (f->free_self) f->free_self(f->self); /* before the owner is released, since its code may lie there */
    gpuc_module_release(f->owner);
    gpuc_mem_free(rt->allocator, f, sizeof *f);
    gpuc_runtime_unpin(rt);
}

gpuc_status gpuc_runtime_function_run(gpuc_function *f, const gpuc_value *args, int num_args, gpuc_value *ret)
{
    gpuc_value result = {0};
    gpuc_status status = f->fn(args, num_args, &result, f->self);
    if (status || !ret)
        gpuc_value_clear(f->runtime, &result);
    else
        *ret = result;
    return status;
}

gpuc_status gpuc_function_call(gpuc_function *f, const gpuc_value *args, int num_args, gpuc_value *ret)
{
    if (ret) *ret = (gpuc_value){0};
    GPUC_REQUIRE(f);
    if (num_args > 0) GPUC_REQUIRE(args);
    gpuc_function_retain(f); /* the call may replace the function in the registry */
    gpuc_status status = gpuc_runtime_function_run(f, args, num_args, ret);
    gpuc_function_release(f);
    return status;
}

bool gpuc_runtime_function_is(const gpuc_function *f, gpuc_packed_fn fn)
{
    return f->fn == fn;
}
