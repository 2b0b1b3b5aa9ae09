// A texture, a color and one light.
#version 450
layout(binding = 0) uniform sampler2D pattern;
layout(location = 0) in vec2 uv;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 tint;
layout(location = 0) out vec4 color;

void main()
{
    float light = 0.5 + 0.6 * max(dot(normalize(normal), normalize(vec3(0.4, 0.8, 0.6))), 0.0);
    color = vec4(texture(pattern, uv).rgb * tint * light, 1.0);
}
