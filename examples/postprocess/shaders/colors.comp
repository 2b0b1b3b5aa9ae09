// Gives a gray picture the colors of another one (Cb and Cr of JPEG's YCbCr), scaled to its size linearly.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform image2D picture;
layout(binding = 1) uniform sampler2D before;

vec2 chroma(ivec2 at)
{
    vec3 c = texelFetch(before, clamp(at, ivec2(0), textureSize(before, 0) - 1), 0).rgb;
    float y = dot(c, vec3(0.299, 0.587, 0.114));
    return vec2((c.b - y) * 0.564, (c.r - y) * 0.713);
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (at.x >= size.x || at.y >= size.y) return;
    // Weighed here, not by the sampler: it is what the CPU computes, to a rounding.
    vec2 p = (vec2(at) + 0.5) * vec2(textureSize(before, 0)) / vec2(size) - 0.5;
    ivec2 i = ivec2(floor(p));
    vec2 f = p - floor(p);
    vec2 c = mix(mix(chroma(i), chroma(i + ivec2(1, 0)), f.x),
                 mix(chroma(i + ivec2(0, 1)), chroma(i + ivec2(1, 1)), f.x), f.y);
    float y = imageLoad(picture, at).r;
    vec3 rgb = vec3(y + 1.403 * c.y, y - 0.344 * c.x - 0.714 * c.y, y + 1.773 * c.x);
    imageStore(picture, at, vec4(clamp(rgb, 0.0, 1.0), 1.0));
}
