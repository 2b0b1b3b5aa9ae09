__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void casts(__global const float *restrict A, int A_offset,
           __global uchar *restrict C, int C_offset,
           __global char *restrict D, int D_offset)
{
    A += A_offset;
    C += C_offset;
    D += D_offset;
    const int i = get_group_id(0) + get_global_offset(0);
    const float8 v = vload8(0, A + i * 8);
    const float8 t = 0.0f < v ? v : (float8)(0.0f);
    vstore8(convert_uchar8(convert_int8(t < 255.0f ? t : (float8)(255.0f))), 0, C + i * 8);
    const float8 t_1 = v != v ? (float8)(0.0f) : v;
    const float8 t_2 = -128.0f < t_1 ? t_1 : (float8)(-128.0f);
    vstore8(convert_char8(convert_int8(t_2 < 127.0f ? t_2 : (float8)(127.0f))), 0, D + i * 8);
}
