// Two lines of text and a bar for each of the last frames, in the corner of the picture.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform image2D picture;
// The text has two lines of 16 characters, each a number into the font.
layout(push_constant) uniform Constants { float bars[20]; uint text[8]; uint scale; };

// 3 x 5 dots, a digit of the octal number for a row: 0 to 9, point, A E F M N R S T, space.
const int font[20] = int[](075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111, 075757, 075717, 000002,
                           025755, 074647, 074644, 057755, 065555, 065655, 034216, 072222, 000000);

bool is_text(uvec2 p)
{
    uint line = p.y / 7, row = p.y % 7, column = p.x % 4, at = p.x / 4 + 16 * line;
    if (line > 1 || p.x / 4 > 15 || row > 4 || column > 2) return false;
    uint letter = text[at / 4] >> (at % 4 * 8) & 0xff;
    return (font[letter] >> ((4 - row) * 3 + 2 - column) & 1) != 0;
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uvec2 p = gl_GlobalInvocationID.xy / scale;
    if (p.x >= 68 || p.y >= 40) return;
    vec4 color = imageLoad(picture, at) * vec4(0.25, 0.25, 0.25, 1.0);
    uint bar = (p.x - 2) / 3;
    if (p.x >= 2 && p.y >= 2 && is_text(p - 2)) color = vec4(1);
    else if (p.x >= 2 && bar < 20 && (p.x - 2) % 3 < 2 && p.y < 38 && float(38 - p.y) <= bars[bar] * 20.0)
        color = vec4(0.3, 1.0, 0.4, 1.0);
    imageStore(picture, at, color);
}
