/* SPDX-License-Identifier: Apache-2.0 */
/* Makes interpreters and values for them, and calls functions by name. */
#include <string.h>

#include "relay_eval/eval.h"

/* ---- Interpreters ---- */

static void destroy(gpuc_ctx *ctx, void *data)
{
    gpuc_relay_interpreter *i = data;
    gpuc_relay_eval_heap *heap = i->heap;
    (void)ctx;
    for (uint32_t k = 0; k < i->constants.count; k++) gpuc_relay_eval_release(i->constants.entries[k].value);
    gpuc_relay_eval_kernels_destroy(i);
    gpuc_mem_free(heap->allocator, i->regs, sizeof *i->regs * i->max_regs);
    gpuc_mem_free(heap->allocator, i->args, sizeof *i->args * i->max_args);
    gpuc_mem_free(heap->allocator, i->frames, sizeof *i->frames * i->max_frames);
    gpuc_mem_free(heap->allocator, i->backs, sizeof *i->backs * i->max_backs);
    gpuc_relay_eval_heap_release(heap);
}

gpuc_relay_interpreter *gpuc_relay_interpreter_create(gpuc_ctx *ctx, const gpuc_rmodule *m,
                                                      const gpuc_relay_interpreter_desc *desc)
{
    gpuc_relay_interpreter *i = gpuc_new(ctx, gpuc_relay_interpreter);
    gpuc_relay_interpreter_desc d = {0};
    if (desc && desc->struct_size < sizeof desc->struct_size)
        gpuc_raise(
            ctx, GPUC_INVALID_ARGUMENT,
            "gpuc_relay_interpreter_desc.struct_size is %u; start from GPUC_RELAY_INTERPRETER_DESC_INIT",
            desc->struct_size);
    if (desc) memcpy(&d, desc, desc->struct_size < sizeof d ? desc->struct_size : sizeof d);
    uint64_t max_bytes = d.max_bytes ? d.max_bytes : UINT64_C(4) << 30;
    gpuc_relay_need(ctx, "an interpreter", "program", m);
    gpuc_relay_check_inferred(ctx, m, GPUC_INVALID_ARGUMENT);
    i->ctx = ctx;
    i->module = (gpuc_rmodule *)m;
    i->max_calls = d.max_calls ? d.max_calls : 10000000;
    gpuc_strmap_init(&i->codes, ctx);
    gpuc_map_init(&i->constants, ctx);
    gpuc_map_init(&i->inner, ctx);
    gpuc_map_init(&i->field_types, ctx);
    i->heap = gpuc_mem_alloc(ctx->allocator, sizeof *i->heap);
    if (!i->heap) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for an interpreter");
    *i->heap = (gpuc_relay_eval_heap){
        .allocator = ctx->allocator, .refs = 1, .max = max_bytes < SIZE_MAX ? (size_t)max_bytes : SIZE_MAX};
    gpuc_ctx_at_destroy(ctx, destroy, i);
    return i;
}

gpuc_relay_eval_code *gpuc_relay_eval_global(gpuc_relay_interpreter *i, const char *name)
{
    gpuc_relay_eval_code *code = gpuc_strmap_get(&i->codes, name);
    gpuc_rexpr *f = gpuc_strmap_get(&i->module->functions, name);
    if (code || !f) return code;
    code = gpuc_new(i->ctx, gpuc_relay_eval_code);
    code->name = gpuc_ctx_printf(i->ctx, "@%s", name);
    code->e = f;
    gpuc_strmap_set(&i->codes, name, code);
    return code;
}

/* ---- Values ---- */

static gpuc_relay_value *made(gpuc_relay_interpreter *i, gpuc_relay_value *v)
{
    if (!v)
        gpuc_raise(i->ctx, GPUC_OUT_OF_MEMORY,
                   "out of memory for a value of %zu bytes: %zu are taken, at most %zu allowed",
                   i->heap->refused, i->heap->used, i->heap->max);
    return v;
}

gpuc_relay_value *gpuc_relay_make_tensor(gpuc_relay_interpreter *i, gpuc_dtype dtype, int ndim,
                                         const int64_t *dims, const void *bytes)
{
    if (ndim < 0 || ndim > GPUC_OP_MAX_DIMS)
        gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "a tensor has at most %d dimensions", GPUC_OP_MAX_DIMS);
    if (!gpuc_dtype_exists(dtype) || dtype.lanes != 1)
        gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "a tensor of an element type that does not exist");
    for (int d = 0; d < ndim; d++)
        if (dims[d] < 0) gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "dimension %d of a tensor is negative", d);
    gpuc_relay_value *v = made(i, gpuc_relay_eval_tensor(i->heap, dtype, ndim, dims));
    if (bytes) gpuc_relay_eval_fill(v, bytes);
    return v;
}

static gpuc_relay_value *make_fields(gpuc_relay_interpreter *i, gpuc_relay_value_kind kind, int n,
                                     gpuc_relay_value *const *fields)
{
    if (n < 0) gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "the number of fields is negative");
    for (int k = 0; k < n; k++)
        if (!fields[k]) gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "field %d is NULL", k);
    gpuc_relay_value *v = made(i, gpuc_relay_eval_fields(i->heap, kind, n));
    for (int k = 0; k < n; k++) v->at.fields[k] = gpuc_relay_eval_retain(fields[k]);
    return v;
}

gpuc_relay_value *gpuc_relay_make_tuple(gpuc_relay_interpreter *i, int n, gpuc_relay_value *const *fields)
{
    return make_fields(i, GPUC_RELAY_TUPLE, n, fields);
}

gpuc_relay_value *gpuc_relay_make_data(gpuc_relay_interpreter *i, const char *constructor, int n,
                                       gpuc_relay_value *const *fields)
{
    const gpuc_constructor *c = gpuc_strmap_get(&i->module->constructors, constructor);
    if (!c) gpuc_raise(i->ctx, GPUC_NOT_FOUND, "the program has no constructor '%s'", constructor);
    if (c->n != n)
        gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "%s has %d fields, not %d", constructor, c->n, n);
    gpuc_relay_value *v = make_fields(i, GPUC_RELAY_DATA, n, fields);
    v->constructor = c;
    return v;
}

/* ---- Calls ---- */

gpuc_relay_value *gpuc_relay_interpret(gpuc_relay_interpreter *i, const char *function, int n,
                                       gpuc_relay_value *const *args)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(i->module, function));
    if (f->n != n)
        gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "@%s takes %d arguments, not %d", function, f->n, n);
    for (int k = 0; k < n; k++) {
        const char *wrong = args[k] ? gpuc_relay_eval_misfit(i, args[k], f->params[k]->type) : "it is NULL";
        if (wrong)
            gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "argument %d of @%s, %%%s: %s", k, function,
                       gpuc_as_rvar(f->params[k])->name, wrong);
    }
    if (i->running) gpuc_raise(i->ctx, GPUC_INVALID_ARGUMENT, "the interpreter runs already");
    i->running = true;
    return gpuc_relay_eval_run(i, gpuc_relay_eval_global(i, function), n, args);
}
