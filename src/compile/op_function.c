/* SPDX-License-Identifier: Apache-2.0 */
/* A call builds a program of the one operator for the device and the types that it finds, and keeps it for
 * the next call with the same. */
#include "compile/op_function.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "compile/program.h"
#include "runtime/current.h"
#include "runtime/services.h"

enum { MAX_ARRAYS = 64, MAX_KEPT = 16 };

/* A program for one device, types and attributes. */
typedef struct kept {
    struct kept *next;
    gpuc_buf key, package;
    int num_params;
    bool is_param[MAX_ARRAYS]; /* else its elements are part of the key */
    int num_in;
    gpuc_model *model;
    gpuc_session *session;
} kept;

typedef struct op_function {
    gpuc_runtime *rt;
    char name[GPUC_OP_NAME];
    gpuc_op_name what;
    pthread_mutex_t mutex; /* of what is kept, and of its sessions */
    kept *first;           /* last used first */
} op_function;

typedef struct op_args {
    op_function *f;
    gpuc_ndarray *const *arrays;
    int num_arrays;
    const gpuc_value *attrs;
    int num_attrs;
    gpuc_device *device;
    bool values; /* take small arrays as known */
    kept *out;
} op_args;

static void free_kept(op_function *f, kept *k)
{
    gpuc_session_release(k->session);
    gpuc_model_release(k->model);
    gpuc_buf_deinit(&k->key);
    gpuc_buf_deinit(&k->package);
    gpuc_mem_free(gpuc_runtime_allocator(f->rt), k, sizeof *k);
}

/* ---- What tells calls apart ---- */

/* Integers that may decide a shape, or one number. */
static bool is_small(const gpuc_ndarray *a)
{
    gpuc_dtype t = gpuc_ndarray_dtype(a);
    size_t most = gpuc_is_integer(t) ? GPUC_OP_MAX_VALUES : 1;
    return gpuc_ndarray_bytes(a) <= most * gpuc_dtype_bytes(t);
}

static gpuc_status make_key(const op_args *a, gpuc_buf *key)
{
    char name[24], bytes[GPUC_OP_MAX_VALUES * 8];
    gpuc_buf_printf(key, "%p %d", (void *)a->device, a->values);
    for (int i = 0; i < a->num_arrays; i++) {
        const gpuc_ndarray *array = a->arrays[i];
        gpuc_buf_printf(key, " %s[", gpuc_dtype_name(gpuc_ndarray_dtype(array), name));
        for (int k = 0; k < gpuc_ndarray_ndim(array); k++)
            gpuc_buf_printf(key, "%lld,", (long long)gpuc_ndarray_dims(array)[k]);
        gpuc_buf_str(key, "]");
        if (!a->values || !is_small(array)) continue;
        GPUC_TRY(gpuc_ndarray_read(array, bytes, gpuc_ndarray_bytes(array)));
        gpuc_buf_bytes(key, bytes, gpuc_ndarray_bytes(array));
    }
    for (int i = 0; i < a->num_attrs; i++) {
        const gpuc_value *v = &a->attrs[i];
        gpuc_buf_printf(key, " %d:", (int)v->kind);
        if (v->kind == GPUC_VALUE_STRING)
            gpuc_buf_lstr(key, v->as.string);
        else
            gpuc_buf_bytes(key, &v->as, sizeof v->as.i);
    }
    return gpuc_buf_status(key);
}

static kept *find(op_function *f, const gpuc_buf *key)
{
    for (kept **at = &f->first; *at; at = &(*at)->next) {
        kept *k = *at;
        if (k->key.size != key->size || memcmp(k->key.data, key->data, key->size)) continue;
        *at = k->next;
        k->next = f->first;
        f->first = k;
        return k;
    }
    return NULL;
}

static void keep(op_function *f, kept *k)
{
    kept **at = &f->first;
    k->next = f->first;
    f->first = k;
    for (int n = 0; n < MAX_KEPT && *at; n++) at = &(*at)->next;
    while (*at) {
        kept *old = *at;
        *at = old->next;
        free_kept(f, old);
    }
}

/* ---- The program ---- */

static const gpuc_attrs *positional(gpuc_ctx *ctx, const op_args *a)
{
    const gpuc_op *op = a->f->what.op;
    const gpuc_attrs *attrs = NULL;
    if (!op && a->num_attrs)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: takes attributes as one text, \"name=value, ...\"",
                   a->f->name);
    const gpuc_attr_spec *spec = op ? op->attrs : NULL;
    char name[24];
    for (int i = 0; i < a->num_attrs; i++, spec++) {
        const gpuc_value *v = &a->attrs[i];
        while (spec && spec->take) spec++;
        if (!spec || !spec->name)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: has %d attributes, not %d", op->name, i,
                       a->num_attrs);
        const char *text = NULL;
        if (v->kind == GPUC_VALUE_NULL) continue; /* the default */
        if (v->kind == GPUC_VALUE_INT) text = gpuc_ctx_printf(ctx, "%lld", (long long)v->as.i);
        if (v->kind == GPUC_VALUE_FLOAT) text = gpuc_ctx_printf(ctx, "%.17g", v->as.f);
        if (v->kind == GPUC_VALUE_STRING) text = v->as.string;
        if (v->kind == GPUC_VALUE_DTYPE) text = gpuc_dtype_name(v->as.dtype, name);
        if (!text)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' cannot be of kind %s", op->name,
                       spec->name, gpuc_value_kind_name(v->kind));
        attrs = gpuc_op_parse_attr(ctx, op, attrs, spec, text);
    }
    return attrs;
}

static const gpuc_attrs *attributes(gpuc_ctx *ctx, const op_args *a)
{
    bool named = a->num_attrs == 1 && a->attrs[0].kind == GPUC_VALUE_STRING &&
                 (strchr(a->attrs[0].as.string, '=') || !*a->attrs[0].as.string);
    return named ? gpuc_op_parse_attrs(ctx, &a->f->what, a->attrs[0].as.string) : positional(ctx, a);
}

typedef struct attempt {
    const op_args *a;
    const gpuc_attrs *attrs;
    int n;
    gpuc_rexpr **inputs, *call;
} attempt;

static void try_inputs(gpuc_ctx *ctx, void *arg)
{
    attempt *t = arg;
    t->call = gpuc_relay_op(ctx, t->a->f->name, t->attrs, t->n, t->inputs);
}

static int num_outputs(const gpuc_rexpr *e)
{
    return e->type->kind == GPUC_RTYPE_TUPLE ? e->type->n : 1;
}

/* Tries as many inputs as hi down to lo; the first error is kept. */
static bool apply_some(gpuc_ctx *ctx, attempt *t, int hi, int lo, gpuc_status *why)
{
    for (t->n = hi; t->n >= lo; t->n--) {
        t->call = NULL;
        gpuc_status status = gpuc_ctx_protect(ctx, try_inputs, t);
        if (!status && t->n + num_outputs(t->call) == t->a->num_arrays) return true;
        if (*why || !status)
            gpuc_status_release(status);
        else
            *why = status;
    }
    return false;
}

/* Tells inputs from results: the first n arrays are inputs, for the largest n at which the operator has as
 * many results as arrays are left. Other spellings than the row's may have more inputs than that, or fewer. */
static void apply(gpuc_ctx *ctx, attempt *t)
{
    const gpuc_op *op = t->a->f->what.op;
    int n = t->a->num_arrays, min = op ? op->min_in : 0,
        max = !op || op->max_in < 0 || op->max_in > n - 1 ? n - 1 : op->max_in;
    gpuc_status why = NULL;
    bool found = apply_some(ctx, t, max, min, &why) || apply_some(ctx, t, n - 1, max + 1, &why) ||
                 apply_some(ctx, t, min - 1 < n ? min - 1 : n - 1, 0, &why);
    if (!found && why && max >= min) gpuc_ctx_raise_status(ctx, why);
    gpuc_status_release(why);
    if (!found)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %d arrays are not its inputs and results", t->a->f->name,
                   n);
}

static void check_outputs(gpuc_ctx *ctx, const attempt *t)
{
    for (int i = 0; i < num_outputs(t->call); i++) {
        const gpuc_rtype *type =
            t->call->type->kind == GPUC_RTYPE_TUPLE ? t->call->type->at[i] : t->call->type;
        const gpuc_ndarray *a = t->a->arrays[t->n + i];
        int64_t dims[64];
        if (type->unknown)
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: the elements of inputs decide the extents of result %d",
                       t->a->f->name, i);
        bool fits = gpuc_relay_tensor_type_static(&type->tensor, dims) &&
                    gpuc_dtype_equal(type->tensor.dtype, gpuc_ndarray_dtype(a)) &&
                    type->tensor.ndim == gpuc_ndarray_ndim(a) &&
                    (!type->tensor.ndim ||
                     !memcmp(dims, gpuc_ndarray_dims(a), sizeof *dims * (size_t)type->tensor.ndim));
        if (fits) continue;
        gpuc_buf text;
        gpuc_buf_init(&text, ctx->allocator);
        gpuc_relay_rtype_print(ctx, &text, type);
        const char *want = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
        gpuc_buf_deinit(&text);
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: result %d is %s, array %d is not", t->a->f->name, i, want,
                   t->n + i);
    }
}

static gpuc_rexpr *input_of(gpuc_ctx *ctx, const op_args *a, int i)
{
    const gpuc_ndarray *array = a->arrays[i];
    gpuc_dtype t = gpuc_ndarray_dtype(array);
    int ndim = gpuc_ndarray_ndim(array);
    const int64_t *dims = gpuc_ndarray_dims(array);
    if (!a->values || !is_small(array))
        return gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", i),
                              gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims));
    char bytes[GPUC_OP_MAX_VALUES * 8];
    GPUC_RAISE_IF(ctx, gpuc_ndarray_read(array, bytes, gpuc_ndarray_bytes(array)));
    return gpuc_relay_const_bytes(ctx, t, ndim, dims, bytes);
}

/* Of the first kind whose code runs on such devices. */
static const gpuc_target *target_for(gpuc_ctx *ctx, gpuc_device *device)
{
    for (size_t i = 0; i < gpuc_target_kind_count(ctx); i++) {
        const gpuc_target_kind_row *kind = gpuc_target_kind_at(ctx, i);
        if (kind->device_type != device->type) continue;
        const char *text = kind->name;
        if (kind->from_device) text = gpuc_ctx_printf(ctx, "%s -from_device=%d", text, device->index);
        return gpuc_target_parse(ctx, text, device);
    }
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "no target kind has code for devices of kind '%s'", device->api->name);
}

static void build(gpuc_ctx *ctx, void *arg)
{
    op_args *a = arg;
    attempt t = {
        .a = a, .attrs = attributes(ctx, a), .inputs = gpuc_new_array(ctx, gpuc_rexpr *, a->num_arrays)};
    gpuc_ptrs params = {0};
    for (int i = 0; i < a->num_arrays; i++) t.inputs[i] = input_of(ctx, a, i);
    apply(ctx, &t);
    check_outputs(ctx, &t);
    for (int i = 0; i < t.n; i++) {
        a->out->is_param[i] = t.inputs[i]->kind == GPUC_REXPR_VAR;
        if (a->out->is_param[i]) gpuc_ptrs_push(ctx, &params, t.inputs[i]);
    }
    a->out->num_in = t.n;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rexpr *main_fn =
        gpuc_relay_function(ctx, (int)params.count, (gpuc_rexpr *const *)params.at, t.call, NULL);
    gpuc_relay_infer_type(ctx, m, main_fn);
    gpuc_strmap_set(&m->functions, "main", main_fn);
    const gpuc_target *target = target_for(ctx, a->device);
    gpuc_build_package_bytes(ctx, m, target, &a->out->package);
}

static gpuc_status load(op_args *a, kept *k)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_ctx *ctx;
    gpuc_allocator allocator = gpuc_runtime_allocator(a->f->rt);
    a->out = k;
    GPUC_TRY(gpuc_ctx_create(&allocator, &ctx));
    gpuc_ctx_set_runtime(ctx, a->f->rt);
    gpuc_status status = gpuc_ctx_protect(ctx, build, a);
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    desc.bytes = k->package.data;
    desc.size = k->package.size;
    desc.device = a->device;
    desc.allow_native_code = true; /* made here */
    GPUC_TRY(gpuc_model_load(a->f->rt, &desc, &k->model));
    return gpuc_session_create(k->model, &k->session);
}

static gpuc_status find_or_load(op_args *a, kept **out)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(a->f->rt);
    kept *k = gpuc_mem_alloc(allocator, sizeof *k);
    if (!k) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", a->f->name);
    memset(k, 0, sizeof *k);
    gpuc_buf_init(&k->key, allocator);
    gpuc_buf_init(&k->package, allocator);
    gpuc_status status = make_key(a, &k->key);
    *out = status ? NULL : find(a->f, &k->key);
    if (!status && !*out) status = load(a, k);
    if (status || *out) {
        free_kept(a->f, k);
        return status;
    }
    keep(a->f, k);
    *out = k;
    return NULL;
}

static gpuc_status run(const op_args *a, kept *k)
{
    for (int i = 0, param = 0; i < k->num_in; i++)
        if (k->is_param[i]) GPUC_TRY(gpuc_session_set_input(k->session, param++, a->arrays[i]));
    GPUC_TRY(gpuc_session_run(k->session));
    for (int i = k->num_in; i < a->num_arrays; i++) {
        gpuc_ndarray *result;
        GPUC_TRY(gpuc_session_get_output(k->session, i - k->num_in, &result));
        GPUC_TRY(gpuc_ndarray_copy(result, a->arrays[i]));
    }
    return NULL;
}

/* ---- The packed function ---- */

static gpuc_status choose_device(op_args *a)
{
    for (int i = 0; i < a->num_arrays && !a->device; i++) a->device = gpuc_ndarray_device(a->arrays[i]);
    if (!a->device) a->device = gpuc_runtime_current_device(a->f->rt);
    return a->device ? NULL : gpuc_device_open(a->f->rt, GPUC_DEVICE_CPU, 0, &a->device);
}

static gpuc_status call(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    op_function *f = self;
    gpuc_ndarray *arrays[MAX_ARRAYS];
    op_args a = {.f = f, .arrays = arrays};
    if (ret) *ret = (gpuc_value){.kind = GPUC_VALUE_NULL};
    for (; a.num_arrays < num_args && args[a.num_arrays].kind == GPUC_VALUE_NDARRAY; a.num_arrays++) {
        if (a.num_arrays == MAX_ARRAYS)
            return gpuc_fail(GPUC_UNSUPPORTED, "%s: takes at most %d arrays", f->name, MAX_ARRAYS);
        arrays[a.num_arrays] = args[a.num_arrays].as.ndarray;
    }
    a.attrs = args + a.num_arrays;
    a.num_attrs = num_args - a.num_arrays;
    if (a.num_arrays == 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "%s: the arguments are arrays of inputs, arrays of results, attributes", f->name);
    GPUC_TRY(choose_device(&a));
    kept *k;
    pthread_mutex_lock(&f->mutex);
    gpuc_status status = find_or_load(&a, &k);
    if (status &&
        gpuc_status_code(status) == GPUC_UNSUPPORTED) { /* perhaps the values of small inputs are needed */
        a.values = true;
        gpuc_status again = find_or_load(&a, &k);
        gpuc_status_release(again ? again : status);
        status = again ? status : NULL;
    }
    if (!status) status = gpuc_error_prefix(run(&a, k), "%s", f->name);
    pthread_mutex_unlock(&f->mutex);
    return status;
}

static void free_self(void *self)
{
    op_function *f = self;
    gpuc_runtime *rt = f->rt;
    while (f->first) {
        kept *k = f->first;
        f->first = k->next;
        free_kept(f, k);
    }
    pthread_mutex_destroy(&f->mutex);
    gpuc_mem_free(gpuc_runtime_allocator(rt), f, sizeof *f);
}

/* Enters topi.<name> for what `row` names. */
static gpuc_status enter(gpuc_runtime *rt, const char *name, const char *row, const gpuc_op_name *what,
                         bool replace)
{
    char full[GPUC_OP_NAME + 8];
    snprintf(full, sizeof full, "topi.%s", name);
    if (!replace && gpuc_registry_get(rt, full))
        return NULL; /* it stands for another row, or is registered already */
    op_function *f = gpuc_mem_alloc(gpuc_runtime_allocator(rt), sizeof *f);
    if (!f) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %s", full);
    *f = (op_function){.rt = rt, .what = *what};
    snprintf(f->name, sizeof f->name, "%s", row);
    if (pthread_mutex_init(&f->mutex, NULL)) {
        gpuc_mem_free(gpuc_runtime_allocator(rt), f, sizeof *f);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a mutex");
    }
    return gpuc_registry_set_fn(rt, full, call, f, free_self, replace);
}

typedef struct entering {
    gpuc_runtime *rt;
    gpuc_status status;
} entering;

static void enter_next(void *arg, const char *name, const gpuc_op_name *what)
{
    entering *e = arg;
    if (!e->status) e->status = enter(e->rt, name, name, what, false);
}

/* ---- Rows that are added ---- */

/* By its own name, which goes before those that rows of the table list, and by those that it lists. */
static gpuc_status enter_names(gpuc_runtime *rt, const gpuc_op *op)
{
    char name[GPUC_OP_NAME];
    const gpuc_op_name what = {.op = op};
    const char *lists[] = {op->topi, op->nnvm};
    GPUC_TRY(enter(rt, op->name, op->name, &what, true));
    for (int i = 0; i < 2; i++)
        for (const char *list = lists[i]; (list = gpuc_op_next_name(list, name));)
            GPUC_TRY(enter(rt, name, op->name, &what, false));
    return NULL;
}

/* All of its names, or none. */
static gpuc_status enter_row(gpuc_runtime *rt, const gpuc_op *op)
{
    gpuc_registry_change *mark = gpuc_registry_begin_changes(rt);
    gpuc_status status = enter_names(rt, op);
    gpuc_registry_end_changes(rt, mark, status != NULL);
    return status;
}

static void enter_added(void *arg, const gpuc_op *op)
{
    entering *e = arg;
    if (!e->status) e->status = enter_row(e->rt, op);
}

/* compiler.op_added: (row) */
static gpuc_status op_added(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    if (ret) *ret = (gpuc_value){.kind = GPUC_VALUE_NULL};
    if (num_args != 1 || args[0].kind != GPUC_VALUE_HANDLE || !args[0].as.handle)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, GPUC_OP_ADDED " takes the handle of an operator's row");
    return enter_row(self, args[0].as.handle);
}

gpuc_status gpuc_compile_op_functions_register(gpuc_runtime *rt)
{
    entering e = {.rt = rt};
    gpuc_op_each_name(enter_next, &e);
    if (!e.status) gpuc_op_each_added(rt, enter_added, &e);
    if (e.status) return e.status;
    return gpuc_registry_set_fn(rt, GPUC_OP_ADDED, op_added, rt, NULL, false);
}
