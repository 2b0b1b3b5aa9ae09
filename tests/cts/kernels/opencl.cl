/* SPDX-License-Identifier: Apache-2.0 */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void vadd(__global const float *a, int oa, __global const float *b, int ob, __global float *c, int oc, int n)
{
    int i = ((int)get_group_id(0) + (int)get_global_offset(0) / 64) * 64 + (int)get_local_id(0);
    if (i < n) c[oc + i] = a[oa + i] + b[ob + i];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void affine(__global const float *x, int ox, __global float *y, int oy, float k, int n)
{
    int i = (int)get_global_id(0);
    if (i < n) y[oy + i] = x[ox + i] * k + 1.0f;
}

/* A variant of affine, with another result, so that it can be seen to run. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void affine_rich(__global const float *x, int ox, __global float *y, int oy, float k, int n)
{
    int i = (int)get_global_id(0);
    if (i < n) y[oy + i] = x[ox + i] * k + 2.0f;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scalars(__global int *out, int o, int a, long b, float c, int n)
{
    if ((int)get_global_id(0) >= n) return;
    out[o + 0] = a;
    out[o + 1] = (int)b;
    out[o + 2] = (int)(b >> 32);
    out[o + 3] = as_int(c);
    out[o + 4] = n;
}
