float gpuc_exact_f32(float a)
{
    return a;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void floats(__global const float *restrict A, int A_offset,
            __global const float *restrict B, int B_offset,
            __global float *restrict C, int C_offset,
            __global float *restrict D, int D_offset)
{
    A += A_offset;
    B += B_offset;
    C += C_offset;
    D += D_offset;
    const int i = get_group_id(0) + get_global_offset(0);
    const float v = A[i];
    const float v_1 = B[i];
    const float s = gpuc_exact_f32(v + v_1);
    C[i] = gpuc_exact_f32(v_1 - gpuc_exact_f32(s - v));
    D[i] = v_1 < v || v != v ? v : v_1;
}
