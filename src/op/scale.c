/* SPDX-License-Identifier: Apache-2.0 */
/* Scales as ratios of integers, which importers and operators must agree on. */
#include "op/scale.h"

#include <math.h>

/* The simplest ratio that float32 does not tell from it: a convergent of its continued fraction. */
gpuc_scale gpuc_op_scale(double scale)
{
    double rest = scale;
    gpuc_scale before = {0, 1}, r = {1, 0};
    for (int i = 0; i < 64; i++) {
        double whole = floor(rest);
        if (whole * (double)r.p + (double)before.p > 0x1p30 ||
            whole * (double)r.q + (double)before.q > 0x1p30)
            break;
        gpuc_scale next = {(int64_t)whole * r.p + before.p, (int64_t)whole * r.q + before.q};
        before = r;
        r = next;
        if (r.p > 0 && fabs((double)r.p / (double)r.q - scale) <= scale * 0x1p-25) break;
        rest = 1 / (rest - whole);
    }
    return r.p > 0 && r.q > 0 ? r : (gpuc_scale){1, 1};
}
