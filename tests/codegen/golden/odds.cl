__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void odds(__global const float *restrict A, int A_offset,
          __global int *restrict I, int I_offset,
          __global const uchar *restrict P, int P_offset,
          __global float *restrict C, int C_offset)
{
    A += A_offset;
    I += I_offset;
    P += P_offset;
    C += C_offset;
    const int i = get_group_id(0) + get_global_offset(0);
    const float x = 3 <= i && (i < 60 || P[i] != 0) ? A[i - 3] : -1.0f;
    if (P[i] != 0)
        C[i] = x * 0.5f + exp(A[i]);
    else if (I[i] < 0)
        C[i] = x;
    else
        C[i] = 0.0f;
    I[i] = (int)((uint)I[i] * 3u - (uint)I[63 - i]);
}
