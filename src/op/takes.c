/* SPDX-License-Identifier: Apache-2.0 */
/* Take functions that many rows share: what another spelling of attributes means for the row. */
#include "op/takes.h"

#include <stdlib.h>
#include <string.h>

void gpuc_op_set_ints(gpuc_op_written *w, const char *name, int n, const int64_t *v)
{
    gpuc_op_set_attr(w, name, gpuc_attrs_find(gpuc_attrs_ints(w->ctx, NULL, name, n, v), name));
}

void gpuc_op_set_sizes(gpuc_op_written *w, const char *name, int n, const gpuc_expr *v)
{
    gpuc_op_set_attr(w, name, gpuc_attrs_find(gpuc_attrs_sizes(w->ctx, NULL, name, n, v), name));
}

const int64_t *gpuc_op_ints_of(gpuc_op_written *w, const gpuc_attr *value, int *n)
{
    *n = value->kind == GPUC_ATTR_INT ? 1 : value->n;
    if (value->kind == GPUC_ATTR_INT) return &value->i;
    if (value->kind != GPUC_ATTR_INTS || value->sizes)
        gpuc_op_written_fail(w, "attribute '%s' must be integers", value->name);
    return value->ints;
}

void gpuc_op_constant_input(gpuc_op_written *w, int i, gpuc_tensor_type type, double value)
{
    w->inputs[i] = (gpuc_op_input){.from = -1, .constant = type, .value = value};
    w->changed = true;
}

int gpuc_op_values_of(gpuc_op_written *w, int i, const gpuc_expr **out)
{
    int64_t n = 1;
    if (!w->in || !w->in_values || i >= w->num_written || !w->in_values[i] || w->in[i].ndim > 1) return -1;
    if (w->in[i].ndim && !gpuc_expr_is_int(w->in[i].dims[0], &n)) return -1;
    *out = w->in_values[i];
    return (int)n;
}

void gpuc_op_take_refused(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    (void)value;
    gpuc_op_written_fail(w, "attribute '%s' is not taken: %s", spec->name, spec->about);
}

void gpuc_op_reshape_input(gpuc_op_written *w, int i, int ndim, const gpuc_expr *dims)
{
    w->inputs[i].ndim = ndim;
    w->inputs[i].dims = gpuc_ctx_memdup(w->ctx, dims, sizeof *dims * (size_t)(ndim ? ndim : 1));
    w->changed = true;
}

static bool truth(gpuc_op_written *w, const gpuc_attr *value)
{
    if (value->kind != GPUC_ATTR_INT || value->i < 0 || value->i > 1)
        gpuc_op_written_fail(w, "attribute '%s' must be 0 or 1", value->name);
    return value->i;
}

void gpuc_op_take_not(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_op_set_attr(w, spec->to,
                     &(gpuc_attr){.name = spec->to, .kind = GPUC_ATTR_INT, .i = !truth(w, value)});
}

void gpuc_op_take_pairs(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    char names[2][GPUC_OP_NAME];
    const char *list = gpuc_op_next_name(spec->to, names[0]);
    gpuc_op_next_name(list, names[1]);
    if (value->kind != GPUC_ATTR_INTS || value->n % 2)
        gpuc_op_written_fail(w, "%s must be pairs of integers, as in [[0, 1], [2, 0]]", spec->name);
    int n = value->n / 2;
    gpuc_expr *part = gpuc_new_array(w->ctx, gpuc_expr, n + 1);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++) part[i] = gpuc_attr_size(w->ctx, value, 2 * i + k);
        gpuc_op_set_sizes(w, names[k], n, part);
    }
}

void gpuc_op_take_others(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr *axis = gpuc_attrs_find(w->attrs, spec->to);
    if (!truth(w, value) || !w->in || w->num_in < 1) return;
    int64_t others[GPUC_TOPI_MAX_DIMS];
    int ndim = w->in[0].ndim, n = 0;
    if (!axis || axis->n == 0) gpuc_op_written_fail(w, "%s without %s leaves no axis", spec->name, spec->to);
    for (int i = 0; i < ndim && i < GPUC_TOPI_MAX_DIMS; i++) {
        bool named = false;
        for (int k = 0; k < axis->n; k++) named |= axis->ints[k] == i || axis->ints[k] == i - ndim;
        if (!named) others[n++] = i;
    }
    for (int k = 0; k < axis->n; k++)
        if (axis->ints[k] < -ndim || axis->ints[k] >= ndim)
            gpuc_op_written_fail(w, "%s has %lld, outside of the %d dimensions of the input", spec->to,
                                 (long long)axis->ints[k], ndim);
    if (n == 0) /* an empty list means all axes */
        gpuc_op_written_fail(w, "%s with all axes in %s leaves none", spec->name, spec->to);
    gpuc_op_set_ints(w, spec->to, n, others);
}

void gpuc_op_take_out_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr *data = gpuc_attrs_find(w->given, spec->to);
    if (!data) data = gpuc_attrs_find(w->given, "layout");
    const char *layout = data ? data->s : "NCHW", *out = value->kind == GPUC_ATTR_STRING ? value->s : "";
    if (!*out || !strcmp(out, "__undef__") || !strcmp(out, layout)) return;
    if (!data && (!strcmp(out, "NCW") || !strcmp(out, "NCDHW"))) return;
    gpuc_op_written_fail(w, "%s is '%s'; the output has the layout of the data, '%s': transpose it",
                         spec->name, out, layout);
}

void gpuc_op_take_unused(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int i = spec->to[0] - '0';
    if (truth(w, value) || !w->in || i >= w->num_in) return;
    gpuc_op_constant_input(w, i, w->in[i], atof(spec->to + 2));
}

void gpuc_op_take_bias(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int n = w->op->max_in;
    bool given = w->num_in == n + 1, wanted = value ? truth(w, value) : given;
    if (wanted != given)
        gpuc_op_written_fail(w,
                             wanted ? "%s=1, so that input %d is the bias; there are %d inputs"
                                    : "%s=0, so that there is no input %d; there are %d inputs",
                             spec->name, n, w->num_in);
    if (!given) return;
    const char *layout = gpuc_attrs_get_string(w->attrs, "data_layout", "NCHW");
    w->bias = n;
    w->bias_axis = !strcmp(layout, "NHWC") || strstr(w->op->name, ".dense") ? -1 : 1;
    w->num_in = n;
    w->changed = true;
}

void gpuc_op_take_flat(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (value) gpuc_op_take_same(w, spec, value);
    if (value || !w->in || w->num_in < 1 || w->in[0].ndim == 1) return;
    gpuc_expr all = gpuc_int(w->ctx, -1);
    gpuc_op_reshape_input(w, 0, 1, &all);
}

void gpuc_op_take_in_type(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    (void)spec;
    if (!value->dtype.bits) return;
    w->inputs[0].cast = value->dtype;
    w->changed = true;
}

void gpuc_op_take_out_type(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    (void)spec;
    w->out_dtype = value->dtype;
    w->changed |= value->dtype.bits != 0;
}

/* The row's order for data of as many dimensions: "OIHW" is "OIW" for three. */
static const char *order_of(gpuc_op_written *w, const char *row, size_t n)
{
    static const char space[] = "DHW";
    if (n < 3 || n > 5) return row;
    return gpuc_topi_printf(w->ctx, "%.2s%s", row, space + (5 - n));
}

void gpuc_op_take_order(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int input = spec->to[0] - '0';
    size_t n = strlen(value->s);
    const char *to = order_of(w, spec->to + 2, n);
    int64_t *axes = gpuc_new_array(w->ctx, int64_t, n + 1);
    bool moves = false, known = strlen(to) == n;
    if (n == 0 || !strcmp(value->s, spec->to + 2)) return;
    for (size_t i = 0; known && i < n; i++) {
        const char *at = strchr(value->s, to[i]);
        known = at != NULL;
        axes[i] = at - value->s;
        moves |= axes[i] != (int64_t)i;
    }
    if (!known)
        gpuc_op_written_fail(w, "%s is '%s'; known are the orders of the letters in %s", spec->name, value->s,
                             to);
    if (!moves) return;
    int from = w->inputs[input].from;
    if (w->in && from < w->num_written && (size_t)w->in[from].ndim != n)
        gpuc_op_written_fail(w, "%s is '%s', input %d has %d dimensions", spec->name, value->s, from,
                             w->in[from].ndim);
    w->inputs[input].axes = axes;
    w->inputs[input].num_axes = (int)n;
    w->changed = true;
}

void gpuc_op_must_be(gpuc_op_written *w, const char *what, int64_t value, int i, int k)
{
    int64_t have;
    for (int r = 0; r < GPUC_OP_WRITTEN_IN; r++)
        if (w->inputs[r].from == i && w->inputs[r].axes && k < w->inputs[r].num_axes)
            k = (int)w->inputs[r].axes[k];
    if (!w->in || i >= w->num_written || k >= w->in[i].ndim || !w->in[i].dims[k]) return;
    if (!gpuc_expr_is_int(w->in[i].dims[k], &have) || have == value) return;
    gpuc_op_written_fail(w, "%s is %lld, dimension %d of input %d is %lld", what, (long long)value, k, i,
                         (long long)have);
}
