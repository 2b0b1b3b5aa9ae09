/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rows, those of gpuc and those that were added, checks calls and infers result types. */
#include "op/op.h"

#include <stdio.h>
#include <string.h>

#include <gpuc/runtime.h>

#include "base/file.h"
#include "base/require.h"
#include "op/entries.h"
#include "op/table.h"

const gpuc_op *gpuc_op_find(const char *name)
{
    for (const gpuc_op_family *f = gpuc_topi_op_families; f->rows; f++)
        for (size_t i = 0; i < (*f->count); i++)
            if (!strcmp(f->rows[i].name, name)) return &f->rows[i];
    return NULL;
}

const char *gpuc_op_next_name(const char *list, char name[GPUC_OP_NAME])
{
    if (!list || !*list) return NULL;
    size_t n = strcspn(list, ",");
    GPUC_CHECK(n < GPUC_OP_NAME);
    memcpy(name, list, n);
    name[n] = 0;
    return list + n + (list[n] == ',');
}

bool gpuc_op_lists(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n])) return true;
    return false;
}

size_t gpuc_op_count(void)
{
    size_t n = 0;
    for (const gpuc_op_family *f = gpuc_topi_op_families; f->rows; f++) n += (*f->count);
    return n;
}

const gpuc_op *gpuc_op_at(size_t i)
{
    for (const gpuc_op_family *f = gpuc_topi_op_families; f->rows; f++) {
        if (i < (*f->count)) return &f->rows[i];
        i -= (*f->count);
    }
    return NULL;
}

/* ---- Rows that were added to a context or to its runtime ---- */

#define PREFIX "op." /* of their names in the registry */

static const gpuc_ptrs *own_rows(const gpuc_ctx *ctx)
{
    static const gpuc_ptrs none;
    return ctx->slots[GPUC_CTX_OPS] ? ctx->slots[GPUC_CTX_OPS] : &none;
}

/* The next row; *at, 0 at first, counts rows of the context, then names of the registry. */
static const gpuc_op *next_added(const gpuc_ctx *ctx, size_t *at)
{
    const gpuc_ptrs *own = own_rows(ctx);
    if (*at < own->count) return own->at[(*at)++];
    if (!ctx->runtime) return NULL;
    size_t entry = *at - own->count;
    const gpuc_op *op = gpuc_op_entry_next(ctx->runtime, PREFIX, &entry);
    *at = own->count + entry;
    return op;
}

void gpuc_op_each_added(gpuc_runtime *rt, void (*each)(void *arg, const gpuc_op *op), void *arg)
{
    const gpuc_op *op;
    size_t at = 0;
    while ((op = gpuc_op_entry_next(rt, PREFIX, &at))) each(arg, op);
}

size_t gpuc_op_added_count(gpuc_ctx *ctx)
{
    size_t n = 0, at = 0;
    while (next_added(ctx, &at)) n++;
    return n;
}

const gpuc_op *gpuc_op_added_at(gpuc_ctx *ctx, size_t i)
{
    size_t at = 0;
    const gpuc_op *op = next_added(ctx, &at);
    for (; op && i > 0; i--) op = next_added(ctx, &at);
    return op;
}

const gpuc_op *gpuc_op_find_in(gpuc_runtime *rt, const char *name)
{
    char full[sizeof PREFIX + GPUC_OP_NAME];
    if (strlen(name) >= GPUC_OP_NAME) return NULL;
    snprintf(full, sizeof full, PREFIX "%s", name);
    return gpuc_op_entry_find(rt, full);
}

/* A row that was added, by its name; NULL. */
static const gpuc_op *find_added(gpuc_ctx *ctx, const char *name)
{
    const gpuc_ptrs *own = own_rows(ctx);
    for (size_t i = 0; i < own->count; i++) {
        const gpuc_op *op = own->at[i];
        if (!strcmp(op->name, name)) return op;
    }
    return ctx->runtime ? gpuc_op_find_in(ctx->runtime, name) : NULL;
}

gpuc_op_name gpuc_op_lookup_name(gpuc_ctx *ctx, const char *name)
{
    const gpuc_op_name *known = gpuc_op_named(ctx, name);
    if (known && known->op && !strcmp(known->op->name, name)) return *known;
    const gpuc_op *added = find_added(ctx, name);
    return added || !known ? (gpuc_op_name){.op = added} : *known;
}

const gpuc_op *gpuc_op_lookup(gpuc_ctx *ctx, const char *name)
{
    return gpuc_op_lookup_name(ctx, name).op;
}

/* The only row of gpuc's own that lists the name. */
static const gpuc_op *find_standard(const char *name)
{
    const gpuc_op *found = NULL;
    for (const gpuc_op_family *f = gpuc_topi_op_families; f->rows; f++) {
        for (size_t i = 0; i < *f->count; i++) {
            if (!gpuc_op_lists(f->rows[i].onnx, name)) continue;
            if (found) return NULL;
            found = &f->rows[i];
        }
    }
    return found;
}

const gpuc_op *gpuc_op_find_onnx(gpuc_ctx *ctx, const char *domain, const char *name)
{
    if (!*domain) return find_standard(name);
    size_t at = 0;
    const gpuc_op *op;
    const char *full = gpuc_ctx_printf(ctx, "%s:%s", domain, name);
    while ((op = next_added(ctx, &at)) && !gpuc_op_lists(op->onnx, full)) continue;
    return op;
}

static gpuc_status check_fields(const gpuc_op *op)
{
    if (!gpuc_op_entry_is_name(op->name))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "'%.80s' is no name for an operator: " GPUC_OP_ENTRY_NAME,
                         op->name);
    if (op->min_in < 0 || op->max_in < -1 || (op->max_in >= 0 && op->max_in < op->min_in))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "operator '%s' takes %d to %d inputs; the second is at least the first, "
                         "or -1 for any number",
                         op->name, op->min_in, op->max_in);
    if ((unsigned)op->pattern > GPUC_FUSE_OPAQUE)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "operator '%s': there is no pattern %d of fusing", op->name,
                         (int)op->pattern);
    return gpuc_error_prefix(gpuc_op_entry_check_attrs(op->attrs), "operator '%s'", op->name);
}

static gpuc_status check_row(const gpuc_op *op)
{
    if (op->name && op->infer && op->compute) return check_fields(op);
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "an operator needs a name, infer and compute; '%s' lacks %s",
                     op->name ? op->name : "",
                     !op->name   ? "a name"
                     : op->infer ? "compute"
                                 : "infer");
}

gpuc_status gpuc_op_register_in(gpuc_runtime *rt, const gpuc_op *op)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(op);
    char full[sizeof PREFIX + GPUC_OP_NAME];
    GPUC_TRY(check_row(op));
    if (strlen(op->name) >= GPUC_OP_NAME)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the name of an operator has at most %d bytes, not '%s'",
                         GPUC_OP_NAME - 1, op->name);
    snprintf(full, sizeof full, PREFIX "%s", op->name);
    if (gpuc_op_find(op->name) || gpuc_registry_get(rt, full))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "there is an operator '%s' already", op->name);
    GPUC_TRY(gpuc_op_entry_add(rt, full, op));
    gpuc_function *added = gpuc_registry_get(rt, GPUC_OP_ADDED);
    const gpuc_value row = {.kind = GPUC_VALUE_HANDLE, .as.handle = (void *)op};
    gpuc_status status = added ? gpuc_function_call(added, &row, 1, NULL) : NULL;
    if (status) gpuc_registry_remove(rt, full);
    return status;
}

void gpuc_op_register(gpuc_ctx *ctx, const gpuc_op *op)
{
    GPUC_RAISE_IF(ctx, check_row(op));
    if (gpuc_op_find(op->name) || find_added(ctx, op->name))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is an operator '%s' already", op->name);
    if (!ctx->slots[GPUC_CTX_OPS]) ctx->slots[GPUC_CTX_OPS] = gpuc_new(ctx, gpuc_ptrs);
    gpuc_ptrs_push(ctx, ctx->slots[GPUC_CTX_OPS], op);
}

static void push_name(void *arg, const char *name, const gpuc_op_name *what)
{
    gpuc_ctx *ctx = ((void **)arg)[0];
    (void)what;
    gpuc_ptrs_push(ctx, ((void **)arg)[1], gpuc_ctx_strdup(ctx, name));
}

const char *gpuc_op_nearest(gpuc_ctx *ctx, const char *name)
{
    const gpuc_op *op;
    size_t at = 0;
    gpuc_ptrs names = {0};
    gpuc_op_each_name(push_name, (void *[]){ctx, &names});
    while ((op = next_added(ctx, &at))) gpuc_ptrs_push(ctx, &names, (void *)op->name);
    return gpuc_suggest(name, (const char *const *)names.at, names.count);
}

/* ---- Types ---- */

/* What the row says of input i. */
static gpuc_dtypes said(const gpuc_op *op, int i)
{
    int last = GPUC_OP_TYPED - 1;
    while (last > 0 && !op->types[last]) last--;
    gpuc_dtypes set = op->types[i < last ? i : last];
    return set ? set : GPUC_T_ANY;
}

gpuc_dtypes gpuc_op_types(const gpuc_op *op, int i)
{
    gpuc_dtypes set = said(op, i);
    if (set & GPUC_T_LIKE) set = said(op, 0);
    if (set & GPUC_T_LIKE_1) set = said(op, 1);
    return set;
}

int gpuc_op_main_input(const gpuc_op *op)
{
    int n = op->max_in < 0 || op->max_in > GPUC_OP_TYPED ? GPUC_OP_TYPED : op->max_in;
    for (int i = 0; i < n; i++)
        if (__builtin_popcount(gpuc_op_types(op, i)) > 1) return i;
    return 0;
}

static void check_inputs(const gpuc_op_call *call)
{
    const gpuc_op *op = call->op;
    if (call->num_in < op->min_in || (op->max_in >= 0 && call->num_in > op->max_in))
        gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "%s: has %d inputs, takes %s%d", op->name, call->num_in,
                   op->max_in == op->min_in    ? ""
                   : call->num_in < op->min_in ? "at least "
                                               : "at most ",
                   call->num_in < op->min_in ? op->min_in : op->max_in);
    int64_t max = 0, d;
    for (const gpuc_attr_spec *spec = op->attrs; spec && spec->name; spec++)
        max = spec->max ? spec->max : max;
    for (int i = 0; i < call->num_in; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim > GPUC_OP_MAX_DIMS)
            gpuc_raise(call->ctx, GPUC_UNSUPPORTED,
                       "%s: input %d has %d dimensions, at most %d are supported", op->name, i, t->ndim,
                       GPUC_OP_MAX_DIMS);
        for (int k = 0; max && k < t->ndim; k++)
            if (t->dims[k] && gpuc_expr_is_int(t->dims[k], &d) && d > max)
                gpuc_raise(call->ctx, GPUC_UNSUPPORTED,
                           "%s: dimension %d of input %d is %lld, at most %lld is supported", op->name, k, i,
                           (long long)d, (long long)max);
    }
}

static void check_types(const gpuc_op_call *call)
{
    const gpuc_op *op = call->op;
    char name[24], other[24];
    for (int i = 0; i < call->num_in; i++) {
        gpuc_dtypes set = said(op, i);
        gpuc_dtype t = call->in[i].dtype;
        gpuc_dtype_name(t, name);
        if (set & (GPUC_T_LIKE | GPUC_T_LIKE_1)) {
            int like = set & GPUC_T_LIKE ? 0 : 1;
            if (like >= call->num_in || gpuc_dtype_equal(t, call->in[like].dtype)) continue;
            gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT,
                       "%s: input %d is %s, input %d is %s; cast one of them", op->name, like,
                       gpuc_dtype_name(call->in[like].dtype, other), i, name);
        }
        if (gpuc_dtypes_have(set, t)) continue;
        if (call->num_in == 1)
            gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "%s: takes %s, not %s", op->name,
                       gpuc_dtypes_text(call->ctx, set), name);
        gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "%s: input %d takes %s, not %s", op->name, i,
                   gpuc_dtypes_text(call->ctx, set), name);
    }
}

static void check_output(const gpuc_op_call *call, gpuc_tensor_type *t)
{
    if (t->ndim > GPUC_OP_MAX_DIMS)
        gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "%s: the result has %d dimensions, at most %d are supported",
                   call->op->name, t->ndim, GPUC_OP_MAX_DIMS);
    int64_t bytes = (int64_t)gpuc_dtype_bytes(t->dtype), d;
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, t->ndim);
    for (int k = 0; k < t->ndim; k++) dims[k] = gpuc_topi_canonical(call->ctx, t->dims[k]);
    t->dims = dims;
    for (int k = 0; k < t->ndim; k++) {
        if (!t->dims[k] || !gpuc_expr_is_int(t->dims[k], &d)) continue;
        if (d < 0)
            gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "%s: dimension %d of the result would be %lld",
                       call->op->name, k, (long long)d);
        if (__builtin_mul_overflow(bytes, d ? d : 1, &bytes))
            gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "%s: the size of the result does not fit 63 bits",
                       call->op->name);
    }
}

void gpuc_op_infer(gpuc_op_call *call)
{
    check_inputs(call);
    check_types(call);
    call->num_out = 1;
    call->op->infer(call);
    for (int i = 0; i < call->num_out; i++) check_output(call, &call->out[i]);
}
