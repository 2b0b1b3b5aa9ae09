/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static void nll(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *target = &c->in[1];
    const char *how = ref_string(c, "reduction", "mean");
    bool none = !strcmp(how, "none"), mean = !strcmp(how, "mean");
    int64_t ignored = ref_int(c, "ignore_index", -100), index[REF_DIMS];
    double sum = 0, weights = 0;
    ref_tensor *y = ref_make(c, 0, x->dtype, none ? target->ndim : 0, target->dims);
    for (int64_t p = 0; p < target->count; p++) {
        if (target->v[p] == (double)ignored) continue;
        ref_index(target, p, index);
        double last = (double)(x->dims[1] - 1);
        int64_t class = (int64_t)fmax(0, fmin(target->v[p], last)), at[REF_DIMS] = {index[0], class};
        for (int i = 1; i < target->ndim; i++) at[1 + i] = index[i];
        double weight = c->num_in > 2 ? c->in[2].v[class] : 1, loss = -x->v[ref_at(x, at)] * weight;
        if (none) y->v[p] = loss;
        sum += loss;
        weights += weight;
    }
    if (!none) y->v[0] = mean ? sum / weights : sum;
}

static void cross_entropy(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *y = &c->in[1];
    bool logits = strstr(c->op, "logits") != NULL;
    double sum = 0;
    for (int64_t p = 0; p < x->count; p++) sum += (logits ? x->v[p] : log(x->v[p])) * y->v[p];
    ref_make(c, 0, x->dtype, 0, NULL)->v[0] = -sum / (double)x->dims[0];
}

const ref_row ref_rows_loss[] = {{"nn.cross_entropy", cross_entropy},
                                 {"nn.cross_entropy_with_logits", cross_entropy},
                                 {"nn.nll_loss", nll},
                                 {NULL, NULL}};
