/* SPDX-License-Identifier: Apache-2.0 */
/* Takes an expression apart into a linear function of given variables and what does not depend on them. */
#include "arith/private.h"

typedef struct search {
    int n;
    const gpuc_expr *vars;
} search;

static bool is_none_of(gpuc_expr e, void *arg)
{
    const search *s = arg;
    for (int i = 0; i < s->n; i++)
        if (s->vars[i] == e) return false;
    return true;
}

bool gpuc_arith_linear(gpuc_analyzer *a, gpuc_expr e, int n, const gpuc_expr *vars, gpuc_expr *coeff,
                       gpuc_expr *rest)
{
    gpuc_arith_begin(a);
    if (!arith_is_scalar_int(e)) return false;
    const arith_poly *p = gpuc_arith_to_poly(a, e);
    const arith_poly *left = gpuc_arith_poly_const(a, e->dtype, p->c);
    const arith_poly **sums = gpuc_arith_pool_alloc(a->ctx, &a->scratch, sizeof *sums * (size_t)(n + 1));
    search s = {n, vars};
    for (int i = 0; i < n; i++) sums[i] = gpuc_arith_poly_const(a, e->dtype, 0);
    for (int i = 0; i < p->n; i++) {
        const arith_term *t = &p->at[i];
        int var = -1, at = -1;
        for (int j = 0; j < t->n; j++) {
            int v = 0;
            while (v < n && vars[v] != t->atom[j]) v++;
            if (v == n && !gpuc_tir_visit(a->ctx, t->atom[j], is_none_of, &s)) return false;
            if (v < n && var >= 0) return false;
            if (v < n) {
                var = v;
                at = j;
            }
        }
        const arith_poly **to = var < 0 ? &left : &sums[var];
        *to = gpuc_arith_poly_add(a, *to, gpuc_arith_poly_term(a, p, t, at, t->coeff), 1);
        if (!*to) return false;
    }
    for (int i = 0; i < n; i++) coeff[i] = gpuc_arith_from_poly(a, sums[i]);
    *rest = gpuc_arith_from_poly(a, left);
    return true;
}
