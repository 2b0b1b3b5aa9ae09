/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>

#include "base/element.h"

static const op_case *const families[] = {
#define REF_FAMILY(name) op_cases_##name,
#include "ref/families.def"
#undef REF_FAMILY
};

const op_case *op_case_at(size_t i)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const op_case *c = families[f]; c->op; c++)
            if (i-- == 0) return c;
    return NULL;
}

/* ---- Types and shapes from text ---- */

static gpuc_dtype parse_dtype(const char *text, size_t n, gpuc_dtype generic)
{
    char name[24];
    gpuc_dtype t;
    if (n == 1 && *text == 'T') return generic;
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    if (!gpuc_dtype_parse(name, &t)) fail_msg("'%s' is no element type", name);
    return t;
}

static bool is_generic(const op_case *c)
{
    return strstr(c->in, "T[") || (c->attrs && strstr(c->attrs, "=T"));
}

bool op_case_takes(const op_case *c, const gpuc_op *op, gpuc_dtype t)
{
    int main = gpuc_op_main_input(op);
    if (is_generic(c)) return gpuc_dtypes_have(c->types ? c->types : gpuc_op_types(op, main), t);
    const char *p = c->in;
    for (int i = 0; i < main && strchr(p, ' '); p = strchr(p, ' ') + 1) i += strchr(p, ']') < strchr(p, ' ');
    size_t n = strcspn(p, "[");
    return n && gpuc_dtype_equal(parse_dtype(p, n, t), t);
}

static const char *with_dtype(gpuc_ctx *ctx, const char *attrs, gpuc_dtype t)
{
    char name[24];
    const char *at = attrs ? strstr(attrs, "=T") : NULL;
    if (!at) return attrs ? attrs : "";
    return gpuc_ctx_printf(ctx, "%.*s=%s%s", (int)(at - attrs), attrs, gpuc_dtype_name(t, name), at + 2);
}

/* ---- Inputs ---- */

static double special_value(fx_rng *r)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 0.5, 1.5, 2.5, -0.5, -2.5, 60000};
    return values[fx_below(r, (int)(sizeof values / sizeof values[0]))];
}

static double random_value(gpuc_dtype t, const op_case *c, fx_rng *r)
{
    if (gpuc_is_bool(t)) return fx_below(r, 2);
    double lo = c->lo, hi = c->hi;
    bool given = lo != hi;
    if (gpuc_is_float(t)) {
        if (c->specials && fx_below(r, 2)) return special_value(r);
        return given ? lo + (hi - lo) * (fx_real(r) + 1) / 2 : 2 * fx_real(r);
    }
    if (!given) lo = -9, hi = 9;
    if (t.code == GPUC_DTYPE_UINT && lo < 0) lo = 0;
    if (t.code == GPUC_DTYPE_UINT && hi < lo) hi = lo + 9;
    double count = floor(hi) - ceil(lo) + 1;
    return ceil(lo) + (count <= INT_MAX ? fx_below(r, (int)count) : floor(count * (fx_real(r) + 1) / 2));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* given: the elements as text; NULL: they are random. */
static gpuc_rexpr *make_input(gpuc_ctx *ctx, const op_case *c, gpuc_dtype t, int ndim, const int64_t *dims,
                              fx_rng *r, bool sorted, const char *given)
{
    const gpuc_rtype *type = gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    size_t item = gpuc_dtype_bytes(t), n = data->size / item, row = sorted ? (size_t)dims[ndim - 1] : 0;
    double *v = gpuc_new_array(ctx, double, n + 1);
    for (size_t i = 0; i < n; i++)
        v[i] = given ? strtod(given + (i > 0), (char **)&given) : random_value(t, c, r);
    for (size_t i = 0; row && i < n; i += row) qsort(v + i, row, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++) {
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, v[i]);
        memcpy((char *)data->bytes + i * item, gpuc_as_rconstant(one)->data->bytes, item);
    }
    return gpuc_relay_constant(ctx, type, data);
}

int op_case_inputs(gpuc_ctx *ctx, const op_case *c, gpuc_dtype generic, fx_rng *r, gpuc_rexpr **args)
{
    int n = 0;
    int64_t extents[26];
    for (int i = 0; i < 26; i++) extents[i] = 1 + fx_below(r, 7);
    for (const char *p = c->in; *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, "[");
        gpuc_dtype t = parse_dtype(p, length, generic);
        int64_t dims[REF_DIMS];
        int ndim = 0;
        for (p += length + 1; *p != ']'; p += strspn(p, ", ")) {
            if (islower((unsigned char)*p))
                dims[ndim++] = extents[*p++ - 'a'];
            else
                dims[ndim++] = strtoll(p, (char **)&p, 10);
        }
        p++;
        const char *given = *p == '=' ? p + 1 : NULL;
        p += strcspn(p, " ");
        args[n] = make_input(ctx, c, t, ndim, dims, r, c->sorted && n == 0, given);
        n++;
    }
    return n;
}

ref_tensor op_case_ref(gpuc_ctx *ctx, const gpuc_rexpr *constant)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(constant);
    ref_tensor out = {.dtype = t->dtype, .ndim = t->ndim, .count = fx_count(constant)};
    gpuc_relay_tensor_type_static(t, out.dims);
    out.v = calloc((size_t)out.count + 1, sizeof *out.v);
    for (int64_t i = 0; i < out.count; i++) out.v[i] = fx_element(ctx, constant, i);
    return out;
}

void op_trial_of(gpuc_ctx *ctx, const op_case *c, int n, gpuc_rexpr *const *args, op_trial *out)
{
    *out = (op_trial){.c = c, .attrs = c->attrs ? c->attrs : "", .n = n};
    out->text = gpuc_ctx_printf(ctx, "%s(%s, %s)", c->op, c->in, out->attrs);
    out->ref = (ref_call){.op = c->op, .attrs = out->attrs, .num_in = n, .num_out = 1};
    for (int i = 0; i < n; i++) {
        out->args[i] = args[i];
        out->ref.in[i] = op_case_ref(ctx, args[i]);
    }
    ref_fn *fn = ref_find(c->op);
    if (!fn) fail_msg("there is no reference for %s", c->op);
    fn(&out->ref);
}

void op_trial_make(gpuc_ctx *ctx, const op_case *c, gpuc_dtype t, fx_rng *r, op_trial *out)
{
    gpuc_rexpr *args[8];
    op_case typed = *c;
    char name[24];
    typed.attrs = with_dtype(ctx, c->attrs, t);
    int n = op_case_inputs(ctx, c, t, r, args);
    op_trial_of(ctx, &typed, n, args, out);
    out->c = c;
    if (is_generic(c)) out->text = gpuc_ctx_printf(ctx, "%s of %s", out->text, gpuc_dtype_name(t, name));
}

void op_trial_free(op_trial *t)
{
    for (int i = 0; i < t->n; i++) free(t->ref.in[i].v);
    for (int i = 0; i < t->ref.num_out; i++) free(t->ref.out[i].v);
}

/* ---- Comparison ---- */

/* ULPs of the type, as a relative error. */
static double tolerance(gpuc_dtype t)
{
    if (t.bits >= 32) return t.bits == 32 ? 4e-6 : 1e-12;
    int bits = gpuc_element_of(t)->significand;
    return ldexp(1, bits > 8 ? 2 - bits : 1 - bits);
}

/* The reference's number as an element of the type. */
static double as_element(gpuc_dtype t, double v)
{
    if (gpuc_is_float(t)) {
        double rounded = gpuc_float_round(t, v);
        return isinf(rounded) ? rounded : t.bits <= 32 ? (float)v : v;
    }
    if (t.code == GPUC_DTYPE_UINT && t.bits == 64 && v >= 0x1p64) return -1; /* the largest, as read back */
    if (gpuc_is_bool(t)) return v != 0;
    if (t.bits == 64 || !(fabs(v) < 0x1p63)) return v;
    uint64_t u = (uint64_t)(int64_t)v & (((uint64_t)1 << t.bits) - 1);
    if (t.code == GPUC_DTYPE_INT && u >> (t.bits - 1)) return (double)u - ldexp(1, t.bits);
    return (double)u;
}

void op_case_compare(gpuc_ctx *ctx, const op_case *c, const char *text, const gpuc_rexpr *got,
                     const ref_tensor *want, double slack)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(got);
    char name[24];
    int64_t dims[64];
    assert_true(gpuc_relay_tensor_type_static(t, dims));
    bool same = t->ndim == want->ndim && gpuc_dtype_equal(t->dtype, want->dtype);
    for (int i = 0; same && i < t->ndim; i++) same = dims[i] == want->dims[i];
    if (!same)
        fail_msg("%s: rank %d of %s, dimension 0 %lld", text, t->ndim, gpuc_dtype_name(t->dtype, name),
                 t->ndim ? (long long)dims[0] : 0LL);
    double relative = c->tolerance > tolerance(t->dtype) ? c->tolerance : tolerance(t->dtype);
    for (int64_t i = 0; i < want->count; i++) {
        double x = fx_element(ctx, got, i), y = as_element(t->dtype, want->v[i]);
        double limit = gpuc_is_float(t->dtype) ? slack * relative * (1 + fabs(y)) : 0;
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= limit))
            fail_msg("%s: element %lld is %.9g, should be %.9g", text, (long long)i, x, y);
    }
}

void op_trial_check(gpuc_ctx *ctx, const op_trial *t, int i, const gpuc_rexpr *got, double slack)
{
    op_case_compare(ctx, t->c, t->text, got, &t->ref.out[i], slack);
}
