// A C++17 program over the public headers: runs a package, holds gpuc's objects in unique_ptr, prints what minimal.c prints.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gpuc/devices.h>

template <auto release> struct releaser {
    template <class T> void operator()(T *object) const { release(object); }
};
using runtime = std::unique_ptr<gpuc_runtime, releaser<gpuc_runtime_release>>;
using model = std::unique_ptr<gpuc_model, releaser<gpuc_model_release>>;
using session = std::unique_ptr<gpuc_session, releaser<gpuc_session_release>>;
using array = std::unique_ptr<gpuc_ndarray, releaser<gpuc_ndarray_release>>;

static void check(gpuc_status status)
{
    if (!status) return;
    std::string text = gpuc_status_message(status);
    gpuc_status_release(status);
    throw text;
}

static array floats(gpuc_runtime *rt, const std::vector<int64_t> &dims)
{
    gpuc_ndarray *made;
    check(gpuc_ndarray_create(rt, nullptr, GPUC_FLOAT32, static_cast<int>(dims.size()), dims.data(), &made));
    return array(made);
}

static void run(const char *path)
{
    gpuc_runtime_desc runtime_desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_runtime *rt;
    check(gpuc_runtime_create(&runtime_desc, &rt));
    runtime keep_runtime(rt);
    check(gpuc_devices_register(rt));
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.allow_native_code = true;
    gpuc_model *m;
    check(gpuc_model_load(rt, &desc, &m));
    model keep_model(m);
    gpuc_session *s;
    check(gpuc_session_create(m, &s));
    session keep_session(s);
    for (int i = 0; i < gpuc_model_num_inputs(m); i++) {
        gpuc_tensor_info info = gpuc_model_input(m, i);
        std::vector<int64_t> dims(info.dims, info.dims + info.ndim);
        for (int64_t &d : dims) d = d < 0 ? 1 : d;
        array input = floats(rt, dims);
        float *x = static_cast<float *>(gpuc_ndarray_host(input.get()));
        for (size_t k = 0; k < gpuc_ndarray_bytes(input.get()) / sizeof *x; k++) x[k] = float(k % 256) / 255;
        check(gpuc_session_set_input(s, i, input.get()));
    }
    check(gpuc_session_run(s));
    for (int i = 0; i < gpuc_model_num_outputs(m); i++) {
        gpuc_ndarray *out;
        check(gpuc_session_get_output(s, i, &out));
        std::vector<float> x(gpuc_ndarray_bytes(out) / sizeof(float));
        check(gpuc_ndarray_read(out, x.data(), x.size() * sizeof(float)));
        std::printf("%s, %zu numbers:", gpuc_model_output(m, i).name, x.size());
        for (size_t k = 0; k < x.size() && k < 10; k++) std::printf(" %g", double(x[k]));
        std::printf("\n");
    }
}

int main(int argc, char **argv)
{
    try {
        run(argc > 1 ? argv[1] : "model.gpuc");
    } catch (const std::string &text) {
        std::fprintf(stderr, "%s\n", text.c_str());
        return 1;
    }
    return 0;
}
