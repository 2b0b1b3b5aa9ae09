__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void product(__global const half *restrict A, int A_offset,
             __global const half *restrict B, int B_offset,
             __global float *restrict C, int C_offset)
{
    A += A_offset;
    B += B_offset;
    C += C_offset;
    const int t = get_local_id(0);
    __local float S[256];
    __local float P[256];
    __local float Q[256];
    float R[16];
    for (int i = 0; i < 16; i++) {
        const int i_1 = i * 16 + t;
        const float v = vload_half(i_1, B);
        S[i_1] = v < 0.0f ? 0.0f : v;
    }
    for (int turn = 0; turn < 16; turn++)
        R[turn] = 0.0f;
    for (int turn_1 = 0; turn_1 < 16; turn_1++) {
        const int i_2 = turn_1 * 16 + t;
        P[i_2] = vload_half(i_2, A);
    }
    for (int turn_2 = 0; turn_2 < 16; turn_2++) {
        const int i_3 = turn_2 * 16 + t;
        Q[i_3] = S[i_3];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int turn_3 = 0; turn_3 < 16; turn_3++) {
        for (int k = 0; k < 16; k++)
            R[turn_3] += P[turn_3 * 16 + k] * Q[k * 16 + t];
    }
    for (int turn_4 = 0; turn_4 < 16; turn_4++)
        C[turn_4 * 16 + t] = R[turn_4];
}
