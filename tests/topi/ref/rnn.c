/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX RNN-14, GRU-14 and LSTM-14, of inputs that are projected: one sequence, one direction, one step after
 * the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

typedef struct layer {
    const ref_call *c;
    int gates, functions, length_input;
    int64_t length, batch, directions, units;
} layer;

static double function(const layer *l, int64_t direction, int i, double x)
{
    double alpha[8], beta[8], clip = ref_float(l->c, "clip", 0);
    char names[64], *p = names;
    int at = (int)direction * l->functions + i;
    strcpy(names, ref_string(l->c, "activations", ""));
    for (int k = 0; k < at; k++) p = strchr(p, ',') + 1;
    if (strchr(p, ',')) *strchr(p, ',') = 0;
    ref_floats(l->c, "alpha", alpha);
    ref_floats(l->c, "beta", beta);
    double a = alpha[at], b = beta[at];
    if (clip > 0) x = fmax(-clip, fmin(clip, x));
    if (!strcmp(p, "relu")) return fmax(x, 0);
    if (!strcmp(p, "tanh")) return tanh(x);
    if (!strcmp(p, "sigmoid")) return 1 / (1 + exp(-x));
    if (!strcmp(p, "affine")) return a * x + b;
    if (!strcmp(p, "leakyrelu")) return x < 0 ? a * x : x;
    if (!strcmp(p, "thresholdedrelu")) return x > a ? x : 0;
    if (!strcmp(p, "scaledtanh")) return a * tanh(b * x);
    if (!strcmp(p, "hardsigmoid")) return fmax(0, fmin(1, a * x + b));
    if (!strcmp(p, "elu")) return x < 0 ? a * (exp(x) - 1) : x;
    if (!strcmp(p, "softsign")) return x / (1 + fabs(x));
    if (!strcmp(p, "softplus")) return log(1 + exp(x));
    return NAN;
}

/* Of the weights of a gate's unit with a state. Weights that are not packed are a panel of all units. */
static double product(const layer *l, int64_t d, int gate, int64_t unit, const double *state)
{
    const ref_tensor *r = &l->c->in[1];
    int64_t block = r->ndim == 5 ? r->dims[4] : l->units, panels = (l->units + block - 1) / block;
    double sum = 0;
    for (int64_t k = 0; k < l->units; k++) {
        int64_t row = (d * panels + unit / block) * l->units + k;
        sum += state[k] * r->v[(row * l->gates + gate) * block + unit % block];
    }
    return sum;
}

static double projected(const layer *l, int64_t t, int64_t b, int64_t d, int gate, int64_t unit)
{
    return l->c->in[0]
        .v[((t * l->batch + b) * l->directions + d) * l->gates * l->units + gate * l->units + unit];
}

static double at_state(const layer *l, int i, int64_t d, int64_t b, int64_t unit)
{
    const ref_tensor *s = &l->c->in[i];
    return s->v[(d * s->dims[1] + (s->dims[1] == 1 ? 0 : b)) * l->units + unit];
}

static void step(const layer *l, int64_t t, int64_t b, int64_t d, double *h, double *state)
{
    int64_t n = l->units;
    double *next = calloc((size_t)n * 4, sizeof *next), *z = next + n, *gated = next + 2 * n,
           *s = next + 3 * n;
    const double *extra = l->c->in[l->gates == 4 ? 4 : 3].v;
    bool linear = ref_int(l->c, "linear_before_reset", 0);
    for (int64_t u = 0; u < n && l->gates == 1; u++)
        next[u] = function(l, d, 0, projected(l, t, b, d, 0, u) + product(l, d, 0, u, h));
    for (int64_t u = 0; u < n && l->gates == 3; u++) {
        z[u] = function(l, d, 0, projected(l, t, b, d, 0, u) + product(l, d, 0, u, h));
        s[u] = function(l, d, 0, projected(l, t, b, d, 1, u) + product(l, d, 1, u, h));
        gated[u] = s[u] * h[u];
    }
    for (int64_t u = 0; u < n && l->gates == 3; u++) {
        double bias = extra[d * n + u], x = projected(l, t, b, d, 2, u);
        double inner = linear ? s[u] * (product(l, d, 2, u, h) + bias) : product(l, d, 2, u, gated) + bias;
        next[u] = (1 - z[u]) * function(l, d, 1, x + inner) + z[u] * h[u];
    }
    for (int64_t u = 0; u < n && l->gates == 4; u++) {
        double g[4], old = state[u];
        const double *p = extra + d * 3 * n + u;
        for (int k = 0; k < 4; k++) g[k] = projected(l, t, b, d, k, u) + product(l, d, k, u, h);
        double in = function(l, d, 0, g[0] + p[0] * old), forget = function(l, d, 0, g[2] + p[2 * n] * old);
        if (ref_int(l->c, "input_forget", 0)) forget = 1 - in;
        state[u] = forget * old + in * function(l, d, 1, g[3]);
        next[u] = function(l, d, 0, g[1] + p[n] * state[u]) * function(l, d, 2, state[u]);
    }
    memcpy(h, next, sizeof *h * (size_t)n);
    free(next);
}

static void run(ref_call *c, int gates, int functions, int inputs)
{
    layer l = {.c = c, .gates = gates, .functions = functions};
    l.length = c->in[0].dims[0];
    l.batch = c->in[0].dims[1];
    l.directions = c->in[1].dims[0];
    l.units = c->in[1].dims[c->in[1].ndim == 5 ? 2 : 1];
    int64_t all[] = {l.length, l.directions, l.batch, l.units};
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, 4, all),
               *last = ref_make(c, 1, c->in[0].dtype, 3, all + 1);
    c->num_out = 2;
    if (gates == 4) ref_make(c, c->num_out++, c->in[0].dtype, 3, all + 1);
    for (int64_t d = 0; d < l.directions; d++)
        for (int64_t b = 0; b < l.batch; b++) {
            int64_t length = c->num_in > inputs ? (int64_t)c->in[inputs].v[b] : l.length, n = l.units;
            length = length < 0 ? 0 : length > l.length ? l.length : length;
            double *h = calloc((size_t)n * 2 + 1, sizeof *h), *state = h + n;
            for (int64_t u = 0; u < n; u++) {
                h[u] = at_state(&l, 2, d, b, u);
                if (gates == 4) state[u] = at_state(&l, 3, d, b, u);
            }
            for (int64_t k = 0; k < length; k++) {
                bool back = d == 1 || ref_int(c, "reverse", 0);
                int64_t t = back ? length - 1 - k : k;
                step(&l, t, b, d, h, state);
                for (int64_t u = 0; u < n; u++) y->v[((t * l.directions + d) * l.batch + b) * n + u] = h[u];
            }
            for (int64_t u = 0; u < n; u++) {
                last->v[(d * l.batch + b) * n + u] = h[u];
                if (gates == 4) c->out[2].v[(d * l.batch + b) * n + u] = state[u];
            }
            free(h);
        }
}

static void rnn(ref_call *c)
{
    run(c, 1, 1, 3);
}

static void gru(ref_call *c)
{
    run(c, 3, 2, 4);
}

static void lstm(ref_call *c)
{
    run(c, 4, 3, 5);
}

const ref_row ref_rows_rnn[] = {{"nn.rnn", rnn}, {"nn.gru", gru}, {"nn.lstm", lstm}, {NULL, NULL}};
