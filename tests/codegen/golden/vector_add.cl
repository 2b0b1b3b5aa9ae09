__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void vector_add(__global const float *restrict A, int A_offset,
                __global const float *restrict B, int B_offset,
                __global float *restrict C, int C_offset,
                int n)
{
    A += A_offset;
    B += B_offset;
    C += C_offset;
    const int bx = get_group_id(0) + get_global_offset(0) / 64;
    const int tx = get_local_id(0);
    const int i = bx * 64 + tx;
    if (i < n)
        C[i] = A[i] + B[i];
}
