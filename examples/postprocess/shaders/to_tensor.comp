// The picture as a tensor: RGB from 0 to 255, or luminance from 0 to 1.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform readonly image2D picture;
layout(binding = 1) writeonly buffer Tensor { float tensor[]; };
layout(push_constant) uniform Constants { uint in_width, in_height, out_width, out_height, luminance; };

void main()
{
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, plane = in_width * in_height;
    if (x >= in_width || y >= in_height) return;
    vec3 rgb = imageLoad(picture, ivec2(x, y)).rgb;
    uint at = y * in_width + x;
    if (luminance != 0) {
        tensor[at] = dot(rgb, vec3(0.299, 0.587, 0.114));
    } else {
        for (int c = 0; c < 3; c++) tensor[c * plane + at] = rgb[c] * 255.0;
    }
}
