/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

static gpuc_dtype parse_dtype(const char *text, size_t n)
{
    static const gpuc_dtype types[] = {GPUC_INT8,    GPUC_INT16,  GPUC_INT32,   GPUC_INT64,   GPUC_UINT8,
                                       GPUC_UINT16,  GPUC_UINT32, GPUC_UINT64,  GPUC_FLOAT16, GPUC_FLOAT32,
                                       GPUC_FLOAT64, GPUC_BOOL,   GPUC_BFLOAT16};
    char name[24];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        gpuc_dtype_name(types[i], name);
        if (strlen(name) == n && !memcmp(name, text, n)) return types[i];
    }
    fail_msg("'%.*s' is no element type", (int)n, text);
    return GPUC_BOOL;
}

static double random_value(gpuc_dtype t, const op_case *c, fx_rng *r)
{
    if (gpuc_is_bool(t)) return fx_below(r, 2);
    bool given = c->lo != c->hi;
    if (gpuc_is_float(t)) return given ? c->lo + (c->hi - c->lo) * (fx_real(r) + 1) / 2 : 2 * fx_real(r);
    if (given) return c->lo + fx_below(r, (int)(c->hi - c->lo) + 1);
    return t.code == GPUC_DTYPE_INT ? fx_below(r, 19) - 9 : fx_below(r, 10);
}

int op_case_inputs(gpuc_ctx *ctx, const op_case *c, fx_rng *r, gpuc_rexpr **args)
{
    int n = 0;
    for (const char *p = c->in; *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, "[");
        gpuc_dtype t = parse_dtype(p, length);
        int64_t dims[REF_DIMS];
        int ndim = 0;
        for (p += length + 1; *p != ']'; p += strspn(p, ", ")) dims[ndim++] = strtoll(p, (char **)&p, 10);
        p++;
        const gpuc_rtype *type = gpuc_rtype_tensor_static(ctx, t, ndim, dims);
        gpuc_const_data *data =
            gpuc_const_data_create(ctx, (size_t)gpuc_tensor_type_bytes(ctx, &type->tensor));
        size_t item = gpuc_dtype_bytes(t);
        for (size_t at = 0; at < data->size; at += item) {
            gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, random_value(t, c, r));
            memcpy((char *)data->bytes + at, gpuc_as_rconstant(one)->data->bytes, item);
        }
        args[n++] = gpuc_relay_constant(ctx, type, data);
    }
    return n;
}

ref_tensor op_case_ref(gpuc_ctx *ctx, const gpuc_rexpr *constant)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(constant);
    ref_tensor out = {.dtype = t->dtype, .ndim = t->ndim, .count = fx_count(constant)};
    gpuc_tensor_type_static(t, out.dims);
    out.v = calloc((size_t)out.count + 1, sizeof *out.v);
    for (int64_t i = 0; i < out.count; i++) out.v[i] = fx_element(ctx, constant, i);
    return out;
}

/* ULPs of the type, as a relative error. */
static double tolerance(gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_BFLOAT) return 0x1p-7;
    return t.bits == 16 ? 0x1p-9 : t.bits == 32 ? 4e-6 : 1e-12;
}

void op_case_compare(gpuc_ctx *ctx, const op_case *c, const gpuc_rexpr *got, const ref_tensor *want)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(got);
    char name[24];
    int64_t dims[64];
    assert_true(gpuc_tensor_type_static(t, dims));
    bool same = t->ndim == want->ndim && gpuc_dtype_equal(t->dtype, want->dtype);
    for (int i = 0; same && i < t->ndim; i++) same = dims[i] == want->dims[i];
    if (!same)
        fail_msg("%s(%s, %s): rank %d of %s, dimension 0 %lld", c->op, c->in, c->attrs ? c->attrs : "",
                 t->ndim, gpuc_dtype_name(t->dtype, name), t->ndim ? (long long)dims[0] : 0LL);
    for (int64_t i = 0; i < want->count; i++) {
        double x = fx_element(ctx, got, i),
               y = t->dtype.bits == 32 && gpuc_is_float(t->dtype) ? (float)want->v[i] : want->v[i];
        double limit = gpuc_is_float(t->dtype) ? tolerance(t->dtype) * (1 + fabs(y)) : 0;
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= limit))
            fail_msg("%s(%s, %s): element %lld is %.9g, should be %.9g", c->op, c->in,
                     c->attrs ? c->attrs : "", (long long)i, x, y);
    }
}
