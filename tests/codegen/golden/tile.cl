__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void tile(__global const float *restrict A, int A_offset,
          __global const float *restrict B, int B_offset,
          __global float *restrict C, int C_offset)
{
    A += A_offset;
    B += B_offset;
    C += C_offset;
    const int i = get_group_id(0) + get_global_offset(0);
    float16 acc[2];
    acc[0] = (float16)(0.0f);
    acc[1] = (float16)(0.0f);
    for (int k = 0; k < 24; k++) {
        const float16 v = vload16(0, B + k * 16);
        const int i_1 = i * 48 + k;
        acc[0] += A[i_1] * v;
        acc[1] += A[i_1 + 24] * v;
    }
    vstore16(acc[0] < 0.0f ? (float16)(0.0f) : acc[0], 0, C + i * 32);
    vstore16(acc[1] < 0.0f ? (float16)(0.0f) : acc[1], 0, C + i * 32 + 16);
}
