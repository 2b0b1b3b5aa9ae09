__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void guarded(__global const float *restrict A, int A_offset,
             __global float *restrict C, int C_offset)
{
    A += A_offset;
    C += C_offset;
    const int bx = get_group_id(0) + get_global_offset(0) / 64;
    const int tx = get_local_id(0);
#ifdef GPUC_POCL
#define holds (get_local_id(0) < 64)
#else
#define holds true
#endif
    __local float S[64];
    const int i = bx * 64 + tx;
    C[i] = 0.0f;
    for (int s = 0; s < 4; s++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        S[tx] = A[bx * 64 + ((tx + s) & 63)];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (bx < 9 && holds) {
            for (int k = 0; k < 8; k++)
                C[i] += S[(tx + k) & 63];
        }
    }
}
#undef holds
