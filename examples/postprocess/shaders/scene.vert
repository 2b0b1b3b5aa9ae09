// Cubes over a floor. The vertices of a cube come from their number.
#version 450
layout(push_constant) uniform Constants { float seconds, aspect; };
layout(location = 0) out vec2 uv;
layout(location = 1) out vec3 normal;
layout(location = 2) out vec3 tint;

mat3 turn(float a, float b)
{
    mat3 y = mat3(cos(a), 0, -sin(a), 0, 1, 0, sin(a), 0, cos(a));
    mat3 x = mat3(1, 0, 0, 0, cos(b), sin(b), 0, -sin(b), cos(b));
    return y * x;
}

void main()
{
    const vec2 corners[6] = vec2[](vec2(-1, -1), vec2(1, -1), vec2(1, 1), vec2(-1, -1), vec2(1, 1), vec2(-1, 1));
    int face = gl_VertexIndex / 6, axis = face % 3, cube = gl_InstanceIndex;
    float side = face < 3 ? 1.0 : -1.0;
    vec2 c = corners[gl_VertexIndex % 6];
    vec3 n = vec3(0), p;
    n[axis] = side;
    p[axis] = side;
    p[(axis + 1) % 3] = c.x * side;
    p[(axis + 2) % 3] = c.y;
    uv = c * 0.5 + 0.5;
    if (cube == 0) { // the floor
        p = p * vec3(9, 0.1, 9) - vec3(0, 1.6, 0);
        uv *= 6.0;
        tint = vec3(0.75, 0.8, 0.9);
    } else {
        float k = float(cube), ring = k * 6.2832 / 7.0 + seconds * 0.4;
        mat3 r = turn(seconds * (0.6 + 0.1 * k), seconds * 0.5 + k);
        float size = cube == 8 ? 1.0 : 0.55;
        vec3 center = cube == 8 ? vec3(0, 0.2, 0) : vec3(3.0 * cos(ring), 0.5 * sin(seconds * 1.7 + k * 2.0), 3.0 * sin(ring));
        p = r * p * size + center;
        n = r * n;
        tint = 0.6 + 0.4 * cos(6.2832 * (k * 0.29 + vec3(0.0, 0.33, 0.67)));
    }
    normal = n;
    // The camera: in front, a little above, looking down.
    vec3 eye = p - vec3(0, 2.6, 7.5);
    const float tilt = 0.3;
    eye = vec3(eye.x, cos(tilt) * eye.y - sin(tilt) * eye.z, sin(tilt) * eye.y + cos(tilt) * eye.z);
    const float near = 0.5, far = 30.0, zoom = 1.7;
    gl_Position = vec4(zoom / aspect * eye.x, -zoom * eye.y, (-far * eye.z - far * near) / (far - near), -eye.z);
}
