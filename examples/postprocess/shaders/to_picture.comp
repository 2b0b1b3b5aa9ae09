// The network's output as a picture: RGB from 0 to 255; or luminance from 0 to 1, with the colors of the picture that
// went in (Cb and Cr of JPEG's YCbCr), scaled up linearly.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform readonly image2D before;
layout(binding = 1) readonly buffer Tensor { float tensor[]; };
layout(binding = 2, rgba8) uniform writeonly image2D picture;
layout(push_constant) uniform Constants { uint in_width, in_height, out_width, out_height, luminance; };

vec2 chroma(ivec2 at)
{
    vec3 c = imageLoad(before, clamp(at, ivec2(0), ivec2(in_width - 1, in_height - 1))).rgb;
    float y = dot(c, vec3(0.299, 0.587, 0.114));
    return vec2((c.b - y) * 0.564, (c.r - y) * 0.713);
}

void main()
{
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, plane = out_width * out_height;
    if (x >= out_width || y >= out_height) return;
    uint at = y * out_width + x;
    vec3 rgb;
    if (luminance != 0) {
        vec2 p = (vec2(x, y) + 0.5) * vec2(in_width, in_height) / vec2(out_width, out_height) - 0.5;
        ivec2 i = ivec2(floor(p));
        vec2 f = p - floor(p);
        vec2 c = mix(mix(chroma(i), chroma(i + ivec2(1, 0)), f.x),
                     mix(chroma(i + ivec2(0, 1)), chroma(i + ivec2(1, 1)), f.x), f.y);
        float l = tensor[at];
        rgb = vec3(l + 1.403 * c.y, l - 0.344 * c.x - 0.714 * c.y, l + 1.773 * c.x);
    } else {
        rgb = vec3(tensor[at], tensor[plane + at], tensor[2 * plane + at]) / 255.0;
    }
    imageStore(picture, ivec2(x, y), vec4(clamp(rgb, 0.0, 1.0), 1.0));
}
