/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no models, or hostile ones: one error that names the node, tensor or offset; no crash, and
 * no more memory or time than the file deserves. */
#include <time.h>

#include "../relay_pass/interp.h"
#include "onnx/onnx.h"
#include "relay_pass/passes.h"
#include "writer.h"

static void load_file(gpuc_ctx *ctx, void *arg)
{
    const gpuc_buf *file = arg;
    gpuc_onnx_options options = GPUC_ONNX_OPTIONS_INIT;
    options.keep_symbolic = true;
    gpuc_onnx_load_bytes(ctx, file->data, file->size, "bad.onnx", ".", &options);
}

static void expect_bad_file(gpuc_ctx *ctx, gpuc_buf *file, gpuc_code code, const char *words)
{
    fx_expect(ctx, code, words, load_file, file);
    gpuc_buf_deinit(file);
}

static void expect_bad(gpuc_ctx *ctx, wr_model *m, gpuc_code code, const char *words)
{
    gpuc_buf file;
    wr_end(m, &file);
    expect_bad_file(ctx, &file, code, words);
}

static void bytes_of(gpuc_buf *b, const void *data, size_t size)
{
    gpuc_buf_init(b, (gpuc_allocator){0});
    gpuc_buf_bytes(b, data, size);
}

/* ---- Not ONNX ---- */

static void load_path(gpuc_ctx *ctx, void *arg)
{
    gpuc_onnx_load(ctx, arg, NULL);
}

static void not_a_model(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        const char *text, *words;
    } files[] = {
        {"", "bad.onnx: not an ONNX model|no graph"},
        {"\x89PNG\r\n\x1a\n", "bad.onnx: not an ONNX model|at byte"},
        {"def model(x):\n    return x\n", "not an ONNX model|at byte"},
        {"\x08", "not an ONNX model: the file is cut off at byte 1"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than ten bytes at byte"},
        {"\x3a\x7f", "a length beyond the end at byte 2"},
        {"\x0b", "a wire type that ONNX does not use"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        gpuc_buf b;
        bytes_of(&b, files[i].text, strlen(files[i].text));
        expect_bad_file(ctx, &b, GPUC_INVALID_DATA, files[i].words);
    }
    fx_expect(ctx, GPUC_NOT_FOUND, "/no/such/model.onnx", load_path, (void *)"/no/such/model.onnx");
    fx_expect(ctx, GPUC_IO, "/tmp", load_path, (void *)"/tmp");
}

static void small_model(wr_model *m)
{
    float w[8] = {1};
    int64_t shape[] = {1, -1};
    wr_begin(m, 13);
    wr_input(m, "x", 1, "1,2,4");
    wr_floats(m, "w", "2,2,2", w);
    wr_ints(m, "shape", "2", shape);
    wr_output(m, "y");
    wr_node(m, "Conv", "x,w", "c", "strides=[1] pads=[1, 0]");
    wr_node(m, "Elu", "c", "r", "alpha=0.5");
    wr_node(m, "Reshape", "r,shape", "y", NULL);
}

static void truncated_at_every_byte(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_buf file;
    small_model(&m);
    wr_end(&m, &file);
    load_file(ctx, &file);
    for (size_t n = 0; n < file.size; n++) {
        gpuc_buf cut;
        bytes_of(&cut, file.data, n); /* exactly n bytes: a sanitizer sees what reads on */
        gpuc_ctx *own;
        assert_null(gpuc_ctx_create(NULL, &own));
        gpuc_status status = gpuc_ctx_protect(own, load_file, &cut);
        if (!status) fail_msg("%zu of %zu bytes are a model", n, file.size);
        assert_true(strlen(gpuc_status_message(status)) > 10);
        gpuc_status_release(status);
        gpuc_ctx_destroy(own);
        gpuc_buf_deinit(&cut);
    }
    gpuc_buf_deinit(&file);
}

/* Every bit flipped: anything but a crash. */
static void damaged_at_every_byte(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    (void)arg;
    wr_model m;
    gpuc_buf file;
    small_model(&m);
    wr_end(&m, &file);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        gpuc_buf bad;
        bytes_of(&bad, file.data, file.size);
        bad.data[bit / 8] ^= (char)(1 << bit % 8);
        gpuc_ctx *own;
        assert_null(gpuc_ctx_create(NULL, &own));
        gpuc_status_release(gpuc_ctx_protect(own, load_file, &bad));
        gpuc_ctx_destroy(own);
        gpuc_buf_deinit(&bad);
    }
    gpuc_buf_deinit(&file);
}

/* A node with an attribute that holds a graph with a node ..., 10^5 deep. Lengths are written from the
 * inside. */
static void nested_deep(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { DEPTH = 100000 };
    size_t *sizes = gpuc_new_array(ctx, size_t, DEPTH * 3 + 1), n = 0;
    for (int i = 0; i < DEPTH * 3; i++) { /* node (field 1), attribute (5), graph (6), repeatedly */
        gpuc_buf length;
        gpuc_buf_init(&length, (gpuc_allocator){0});
        wr_varint(&length, sizes[n]);
        sizes[n + 1] = sizes[n] + 1 + length.size;
        n++;
        gpuc_buf_deinit(&length);
    }
    gpuc_buf file;
    gpuc_buf_init(&file, (gpuc_allocator){0});
    static const uint8_t fields[] = {6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2};
    wr_varint(&file, 7 << 3 | 2);
    wr_varint(&file, sizes[n]);
    while (n-- > 0) {
        gpuc_buf_u8(&file, fields[n % 3]);
        wr_varint(&file, sizes[n]);
    }
    expect_bad_file(ctx, &file, GPUC_INVALID_DATA, "nested more than 64 deep at byte");
}

/* ---- Graphs ---- */

static void opsets(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int opset = 0; opset <= 26; opset += 26) {
        wr_model m;
        wr_begin(&m, opset);
        expect_bad(ctx, &m, GPUC_UNSUPPORTED, "opsets 1 to 25 are supported");
    }
    wr_model m;
    gpuc_buf file;
    wr_begin(&m, 13);
    gpuc_buf_init(&file, (gpuc_allocator){0});
    wr_int(&file, 1, 8);
    wr_msg(&file, 7, &m.graph);
    expect_bad_file(ctx, &file, GPUC_INVALID_DATA, "names no opset");
}

static void begin(wr_model *m)
{
    wr_begin(m, 13);
    wr_input(m, "x", 1, "2,3");
    wr_output(m, "y");
}

static void broken_graphs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    float one = 1;
    wr_begin(&m, 13);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "no outputs");
    begin(&m);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "output 'y' is not made by any node");
    begin(&m);
    wr_node(&m, "Relu", "z", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA,
               "node 'n_Relu' (Relu, opset 13): input 'z' is not made by any node");
    begin(&m);
    wr_node(&m, "Add", "x,b", "a", NULL);
    wr_node(&m, "Exp", "a", "b", NULL);
    wr_node(&m, "Relu", "b", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "cycle through node 'n_Add' (Add, opset 13)");
    begin(&m);
    wr_node(&m, "Relu", "y", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "cycle through node 'n_Relu'");
    begin(&m);
    wr_node(&m, "Relu", "x", "y", NULL);
    wr_node(&m, "Exp", "x", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "the name 'y' is given to two tensors|n_Exp");
    begin(&m);
    wr_node(&m, "Relu", "x", "x", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "'x' is given to two tensors");
    begin(&m);
    wr_input(&m, "x", 1, "2,3");
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "'x' is given to two tensors");
    begin(&m);
    wr_floats(&m, "w", "1", &one);
    wr_floats(&m, "w", "1", &one);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "'w' is given to two tensors");
    begin(&m);
    wr_output(&m, "y");
    wr_node(&m, "Relu", "x", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "two outputs 'y'");
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_output_as(&m, "y", 6, "2,3");
    wr_node(&m, "Relu", "x", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA,
               "output 'y' is declared as int32, but node 'n_Relu' (Relu) gives float32");
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_output_as(&m, "x", 7, "2,3");
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "output 'x' is declared as int64, but an input");
    begin(&m);
    wr_node(&m, "Relu", "x", "", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "node 'n_Relu' (Relu, opset 13): the node has no outputs");
}

/* C's strings end at a zero byte; a name must not mean something else to gpuc than to other readers. */
static void zero_bytes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_buf node, tensor, entry, attr;
    begin(&m);
    gpuc_buf_init(&node, (gpuc_allocator){0});
    wr_bytes(&node, 1, "x\0y", 3);
    wr_str(&node, 2, "y");
    wr_str(&node, 4, "Relu");
    wr_msg(&m.graph, 1, &node);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "the field 'input' of NodeProto has a zero byte, at byte ");
    begin(&m);
    gpuc_buf_init(&tensor, (gpuc_allocator){0});
    wr_tensor(&tensor, "w", 1, "1", NULL, 0);
    gpuc_buf_init(&entry, (gpuc_allocator){0});
    wr_str(&entry, 1, "location");
    wr_bytes(&entry, 2, "good.bin\0x", 10);
    wr_msg(&tensor, 13, &entry);
    wr_int(&tensor, 14, 1);
    wr_msg(&m.graph, 5, &tensor);
    wr_node(&m, "Add", "x,w", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "the field 'value' of StringStringEntryProto has a zero byte");
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "1,2,3");
    wr_output(&m, "y");
    wr_node_begin(&node, "MaxPool", "x", "y", "kernel_shape=[1]");
    gpuc_buf_init(&attr, (gpuc_allocator){0});
    wr_str(&attr, 1, "auto_pad");
    wr_bytes(&attr, 4, "VALID\0x", 7);
    wr_int(&attr, 20, 3);
    wr_msg(&node, 5, &attr);
    wr_msg(&m.graph, 1, &node);
    expect_bad(ctx, &m, GPUC_INVALID_ARGUMENT, "n_MaxPool|attribute 'auto_pad' has a zero byte");
}

static void broken_inputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "x", 0, NULL);
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "input 'x' is not a tensor");
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "x", 1, NULL);
    expect_bad(ctx, &m, GPUC_INVALID_ARGUMENT, "input 'x' has no shape|--shape x=1,3,224,224");
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "x", 8, "1");
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "input 'x': tensors of type string are not supported");
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "x", 99, "1");
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "input 'x': element type 99");
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "", 1, "1");
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "no name");
    char dims[200] = "1";
    for (int i = 0; i < 70; i++) strcat(dims, ",1");
    wr_begin(&m, 13);
    wr_output(&m, "x");
    wr_input(&m, "x", 1, dims);
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "71 dimensions");
}

/* ---- Nodes ---- */

typedef struct bad_node {
    int opset;
    const char *op, *inputs, *attrs, *words;
} bad_node;

static void broken_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const bad_node unsupported[] = {
        {13, "FancyRelu", "x", NULL,
         "node 'n_FancyRelu' (FancyRelu, opset 13): the operator is not supported"},
        {13, "Reluu", "x", NULL, "a similar name: Relu"},
        {13, "Gelu", "x", NULL, "(Gelu, opset 13): the operator is of opset 20 and later"},
        {13, "Relu", "x", "alpha=0.5", "node 'n_Relu' (Relu, opset 13)|attribute 'alpha'"},
        {13, "Unsqueeze", "x,i", NULL, "n_Unsqueeze|input 1 ('i') decides a shape|--bind"},
        {13, "Cast", "x", "to=8", "n_Cast|type string"},
        {13, "Conv", "huge,w", NULL, "6 dimensions"},
    };
    static const bad_node invalid[] = {
        {13, "Relu", "", NULL, "n_Relu|has 0 inputs, takes 1"},
        {13, "Add", "x", NULL, "n_Add|add"},
        {13, "Add", "x,wide", NULL, "n_Add|dimensions 3 and 4 do not broadcast"},
        {13, "Relu", "b", NULL, "n_Relu|bool"},
        {13, "Transpose", "x", "perm=[0, 0]", "n_Transpose|permutation"},
        {13, "Transpose", "x", "perm=[7, 1]", "n_Transpose|permutation"},
        {13, "Softmax", "x", "axis=2", "n_Softmax|axis=2"},
        {13, "Softmax", "x", "axis=0.5", "n_Softmax|'axis' is not an integer"},
        {13, "Concat", "x,wide", "axis=0", "n_Concat|dimension 1 of input 1 is 4"},
        {13, "Flatten", "x", "axis=9", "n_Flatten|axis=9"},
        {13, "MatMul", "x,x", NULL, "n_MatMul|inner dimensions 3 and 2 differ"},
        {13, "Gemm", "x,v", NULL, "n_Gemm|matrices"},
        {13, "Conv", "img,w", "strides=[0, 1]", "n_Conv|strides has 0"},
        {13, "Conv", "img,w", "strides=[1]", "n_Conv|'strides' has 1 numbers, needs 2"},
        {13, "Conv", "img,w", "dilations=[9223372036854775807, 1]",
         "n_Conv|dilations has 9223372036854775807"},
        {13, "Conv", "img,w", "pads=[1, 1, 1, 9223372036854775807]", "n_Conv|pads has 9223372036854775807"},
        {13, "Conv", "img,w", "pads=[-9, 0, 0, 0]", "n_Conv|larger than the padded input"},
        {13, "Conv", "img,w", "group=7", "n_Conv|groups=7"},
        {13, "Conv", "img,w", "auto_pad=SAME_SAME", "n_Conv|auto_pad 'SAME_SAME'"},
        {13, "Conv", "img,w", "kernel_shape=[5, 5]", "n_Conv|kernel_shape does not fit"},
        {13, "ConvTranspose", "img,wt", "output_shape=[5]", "n_ConvTranspose|output_shape has 1"},
        {13, "ConvTranspose", "img,wt", "output_shape=[9223372036854775807, 1]",
         "n_ConvTranspose|output_shape"},
        {13, "MaxPool", "img", NULL, "n_MaxPool|kernel_shape has 0 entries, needs 2"},
        {13, "LpPool", "img", "kernel_shape=[2, 2] p=0", "n_LpPool|p=0"},
        {18, "GroupNormalization", "img,v,v", "num_groups=3", "n_GroupNormalization|2 channels|num_groups=3"},
        {21, "GroupNormalization", "img,v,v", "num_groups=2", "n_GroupNormalization|vector of 2"},
        {17, "LayerNormalization", "x,wide", NULL, "n_LayerNormalization|dimensions"},
        {23, "RMSNormalization", "x,v", "axis=5", "n_RMSNormalization|axis 5"},
        {13, "LpNormalization", "x", "p=0", "n_LpNormalization|p=0"},
        {13, "NegativeLogLikelihoodLoss", "x,i", "reduction=most", "n_NegativeLogLikelihoodLoss|'most'"},
        {13, "NegativeLogLikelihoodLoss", "x,i,s", NULL, "n_NegativeLogLikelihoodLoss|weights|3"},
        {13, "SoftmaxCrossEntropyLoss", "img,i", NULL,
         "n_SoftmaxCrossEntropyLoss|4 dimensions, targets of 1"},
        {13, "MaxUnpool", "img,img", NULL, "n_MaxUnpool|kernel_shape has 0 entries, needs 2"},
        {16, "RoiAlign", "img,x,i", NULL, "n_RoiAlign|[number, 4]"},
        {16, "RoiAlign", "img,wide,i", "mode=sum", "n_RoiAlign|'sum'"},
        {16, "RoiAlign", "img,wide,i", "output_height=-3", "n_RoiAlign|pooled_size"},
        {16, "RoiAlign", "img,wide,i", "coordinate_transformation_mode=x", "n_RoiAlign|'x'"},
        {13, "MaxRoiPool", "img,wide", "pooled_shape=[1, 1]", "n_MaxRoiPool|[number, 5]"},
        {18, "Col2Im", "img,two,two", NULL, "n_Col2Im|4 dimensions"},
        {20, "AffineGrid", "img,two", NULL, "n_AffineGrid|size has 2 entries"},
        {20, "AffineGrid", "img,four", NULL, "n_AffineGrid|theta must be [N, 2, 3]"},
        {19, "DeformConv", "img,w,img", NULL, "n_DeformConv|dimension 2 of input 2 is 5, must be 3"},
        {19, "DeformConv", "img,w,img", "offset_group=0", "n_DeformConv|deformable_groups=0"},
        {23, "Attention", "x,x,x", NULL, "n_Attention|2 dimensions, needs 3 or 4"},
        {23, "Attention", "cube,cube,cube", NULL, "n_Attention|'q_num_heads' is 0"},
        {23, "Attention", "img,img,img,wide", NULL, "n_Attention|broadcast"},
        {23, "Attention", "img,img,img", "qk_matmul_output_mode=4", "n_Attention|qk_matmul_output_mode is 4"},
        {23, "RotaryEmbedding", "img,x,x", NULL, "n_RotaryEmbedding|cos_cache"},
        {23, "RotaryEmbedding", "cube,cube,cube", "num_heads=3", "n_RotaryEmbedding|'num_heads' is 3"},
        {13, "MaxPool", "img", "kernel_shape=[9, 9]", "n_MaxPool|window is larger"},
        {13, "MaxPool", "img", "kernel_shape=[2, 2] pads=[-1, 0, 0, 0]", "n_MaxPool|padding has -1"},
        {13, "DepthToSpace", "img", "blocksize=4611686018427387904", "n_DepthToSpace|block_size"},
        {13, "SpaceToDepth", "img", "blocksize=0", "n_SpaceToDepth|block_size=0"},
        {13, "LRN", "img", "size=0", "n_LRN|size is 0"},
        {11, "Unsqueeze", "x", "axes=[9]", "n_Unsqueeze|axis has 9"},
        {11, "Squeeze", "x", "axes=[0]", "n_Squeeze|dimension 0 is not 1"},
        {11, "Split", "x", "axis=1 split=[4]", "n_Split|does not fit dimension 1 of 3"},
        {9, "Slice", "x", "starts=[0] ends=[1, 2]", "n_Slice|ends has 2 entries, starts has 1"},
        {9, "Slice", "x", "starts=[0] ends=[1] axes=[5]", "n_Slice|axis 5"},
        {13, "Pad", "x,huge_list", NULL, "n_Pad|pads has 2 entries, needs 4"},
        {13, "Expand", "x,huge_list", NULL, "n_Expand"},
        {13, "Tile", "x,huge_list", NULL, "n_Tile|63 bits"},
        {13, "ConstantOfShape", "huge_list", NULL, "n_ConstantOfShape|63 bits"},
        {13, "Reshape", "x,huge_list", NULL, "n_Reshape|63 bits"},
        {13, "Gather", "x,x", NULL, "n_Gather|takes integers"},
        {13, "Gather", "empty,i2", NULL, "n_Gather|outside of the 0 elements"},
        {13, "GatherElements", "x,i2", NULL, "n_GatherElements|2 dimensions, the indices have 1"},
        {13, "GatherND", "x,i2", "batch_dims=3", "n_GatherND|batch_dims is 3"},
        {13, "Gather", "x,past", NULL,
         "node 'n_Gather' (Gather, opset 13): index 1 is 4, outside of the 2 elements of dimension 0"},
        {13, "Gather", "x,past", "axis=-1",
         "n_Gather|index 1 is 4, outside of the 3 elements of dimension 1"},
        {13, "Gather", "open,past", "axis=1", "n_Gather|outside of the 3 elements of dimension 1"},
        {13, "GatherElements", "x,before", NULL, "n_GatherElements|index 0 is 3, outside of the 2"},
        {13, "GatherND", "x,past", NULL, "n_GatherND|index 1 is 4, outside of the 3 elements of dimension 1"},
        {13, "GatherND", "x,before", "batch_dims=1",
         "n_GatherND|index 0 is 3, outside of the 3 elements of dimension 1"},
        {18, "ScatterElements", "x,before,column", NULL, "n_ScatterElements|index 0 is 3"},
        {18, "ScatterND", "x,past,zero_f", NULL, "n_ScatterND|index 1 is 4, outside of the 3"},
        {18, "ScatterElements", "x,i2,x", NULL, "n_ScatterElements|have 2, 1 and 2 dimensions"},
        {18, "ScatterND", "x,i2,x", NULL, "n_ScatterND|updates have 2 dimensions, need 1"},
        {13, "TopK", "x,four", NULL, "n_TopK|K has 4 numbers"},
        {13, "TopK", "x,huge_list", NULL, "n_TopK|K has 2 numbers"},
        {9, "TopK", "x", NULL, "n_TopK|'k' is missing"},
        {13, "CumSum", "x,two", NULL, "n_CumSum|input 1 must be one number"},
        {13, "CumSum", "b,zero", NULL, "n_CumSum|not bool"},
        {13, "OneHot", "i,zero,v", NULL, "n_OneHot|a list of two"},
        {13, "Compress", "x,i2", NULL, "n_Compress|takes bools, not int64"},
        {13, "Compress", "x,b", "axis=2", "n_Compress|axis 2 is outside"},
        {13, "Unique", "x", "axis=-3", "n_Unique|axis -3 is outside"},
        {13, "NonMaxSuppression", "x,cube", NULL, "n_NonMaxSuppression|input 0 has 2 dimensions, needs 3"},
        {13, "NonMaxSuppression", "cube,cube", NULL,
         "n_NonMaxSuppression|dimension 2 of input 1 is 4, needs 3"},
        {13, "Range", "zero,one,zero", NULL, "n_Range|step is 0"},
        {13, "Range", "one,v,one", NULL, "n_Range"},
        {13, "Resize", "x,,s", "coordinate_transformation_mode=tf_crop_and_resize",
         "n_Resize|input 1 is missing"},
        {13, "Resize", "x,,s", "mode=cubist", "n_Resize|method 'cubist'"},
        {13, "Resize", "x,,negative", NULL, "n_Resize|scale -1"},
        {13, "Cast", "x", NULL, "n_Cast|'to' is missing"},
        {13, "BitShift", "i,i", "direction=UP", "n_BitShift|direction 'UP'"},
    };
    for (size_t k = 0; k < 2; k++) {
        const bad_node *list = k ? invalid : unsupported;
        size_t n = k ? sizeof invalid / sizeof invalid[0] : sizeof unsupported / sizeof unsupported[0];
        for (size_t i = 0; i < n; i++) {
            wr_model m;
            int64_t huge[] = {(int64_t)1 << 62, (int64_t)1 << 62}, zero = 0, one = 1, small[] = {1, 1, 5, 5};
            float s[] = {2, 2}, negative[] = {1, -1}, w[36] = {0}, v[3] = {1, 1, 1};
            wr_begin(&m, list[i].opset);
            wr_input(&m, "x", 1, "2,3");
            wr_input(&m, "wide", 1, "2,4");
            wr_input(&m, "img", 1, "1,2,5,5");
            wr_input(&m, "huge", 1, "1,1,1,1,1,1");
            wr_input(&m, "b", 9, "2");
            wr_input(&m, "i", 7, "2");
            wr_input(&m, "empty", 1, "0,3");
            wr_input(&m, "open", 1, "?,3");
            wr_ints(&m, "past", "2", (int64_t[]){1, 4});
            wr_ints(&m, "before", "2,2", (int64_t[]){3, 1, -3, 0});
            wr_input(&m, "column", 1, "2,2");
            wr_floats(&m, "zero_f", "", (float[]){0});
            wr_ints(&m, "i2", "1", &one);
            wr_ints(&m, "huge_list", "2", huge);
            wr_input(&m, "cube", 1, "2,3,4");
            wr_ints(&m, "two", "2", small);
            wr_ints(&m, "four", "4", small);
            wr_ints(&m, "zero", "", &zero);
            wr_ints(&m, "one", "", &one);
            wr_floats(&m, "s", "2", s);
            wr_floats(&m, "negative", "2", negative);
            wr_floats(&m, "w", "2,2,3,3", w);
            wr_floats(&m, "wt", "2,1,3,3", w);
            wr_floats(&m, "v", "3", v);
            wr_output(&m, "y");
            wr_node(&m, list[i].op, list[i].inputs, "y", list[i].attrs);
            gpuc_buf file;
            wr_end(&m, &file);
            gpuc_status status = gpuc_ctx_protect(ctx, load_file, &file);
            if (!status)
                fail_msg("%s(%s, %s) was taken", list[i].op, list[i].inputs,
                         list[i].attrs ? list[i].attrs : "");
            fx_check_status(status, k ? GPUC_INVALID_ARGUMENT : GPUC_UNSUPPORTED, list[i].words);
            gpuc_buf_deinit(&file);
        }
    }
}

/* All of them are told at once; what follows from them is not. */
static void several_unsupported(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    begin(&m);
    wr_node(&m, "FancyRelu", "x", "a", NULL);
    wr_node(&m, "Relu", "a", "b", NULL);
    wr_node(&m, "Gelu", "b", "c", NULL);
    wr_node(&m, "Cast", "x", "d", "to=8");
    wr_node(&m, "Cast", "c", "e", "to=8"); /* of an unknown input: nothing is said of it */
    wr_node(&m, "Add", "c,d", "y", NULL);
    expect_bad(
        ctx, &m, GPUC_UNSUPPORTED,
        "3 nodes are not supported:|'n_FancyRelu' (FancyRelu, opset 13): the operator is not supported|"
        "'n_Gelu' (Gelu, opset 13): the operator is of opset 20 and later|'n_Cast' (Cast, opset 13)");
    begin(&m);
    wr_node(&m, "FancyRelu", "x", "a", NULL);
    wr_node(&m, "Relu", "y", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "cycle through node 'n_Relu'");
}

static void other_domains(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    gpuc_buf n;
    begin(&m);
    wr_node_begin(&n, "Relu", "x", "y", NULL);
    wr_str(&n, 7, "com.example");
    wr_msg(&m.graph, 1, &n);
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "node 'n_Relu' (Relu of domain 'com.example')|not supported");
    begin(&m);
    wr_node(&m, "Elu", "x", "y", "alpha=0.5 alpha=0.25");
    expect_bad(ctx, &m, GPUC_INVALID_DATA, "n_Elu|attribute 'alpha' is given twice");
    begin(&m);
    wr_node(&m, "MaxPool", "x", "y,indices", "kernel_shape=[1]");
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "n_MaxPool|2 dimensions");
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "1,1,3");
    wr_output(&m, "y");
    wr_node(&m, "AveragePool", "x", "y,indices", "kernel_shape=[1]");
    expect_bad(ctx, &m, GPUC_UNSUPPORTED, "n_AveragePool|output 1 is not supported");
    wr_begin(&m, 13);
    wr_input(&m, "x", 9, "3");
    wr_output(&m, "y");
    wr_node(&m, "ReduceSum", "x", "y", NULL);
    expect_bad(ctx, &m, GPUC_INVALID_ARGUMENT, "n_ReduceSum|no sum of bools");
}

/* ---- Tensors ---- */

static void bad_tensor(gpuc_ctx *ctx, const char *dims, int elem_type, const void *raw, size_t size,
                       gpuc_code code, const char *words)
{
    wr_model m;
    gpuc_buf t;
    wr_begin(&m, 13);
    wr_output(&m, "w");
    gpuc_buf_init(&t, (gpuc_allocator){0});
    wr_tensor(&t, "w", elem_type, dims, raw, size);
    wr_msg(&m.graph, 5, &t);
    expect_bad(ctx, &m, code, words);
}

static void broken_tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    float v[4] = {0};
    char dims[200] = "1";
    for (int i = 0; i < 70; i++) strcat(dims, ",1");
    bad_tensor(ctx, "3", 1, v, 16, GPUC_INVALID_DATA, "tensor w: has 16 bytes, its shape needs 12");
    bad_tensor(ctx, "4", 1, v, 13, GPUC_INVALID_DATA, "tensor w: has 13 bytes");
    bad_tensor(ctx, "4", 1, NULL, 0, GPUC_INVALID_DATA, "tensor w: has 0 elements, its shape needs 4");
    bad_tensor(ctx, "-1", 1, v, 4, GPUC_INVALID_DATA, "tensor w: dimension 0 is -1");
    bad_tensor(ctx, "4611686018427387904,4", 1, v, 16, GPUC_INVALID_DATA, "tensor w: dimension");
    bad_tensor(ctx, "1099511627776", 1, v, 16, GPUC_INVALID_DATA,
               "tensor w: has 16 bytes"); /* without asking for 4 TiB */
    bad_tensor(ctx, "1099511627776", 1, NULL, 0, GPUC_INVALID_DATA, "tensor w: has 0 elements");
    bad_tensor(ctx, "4", 0, v, 16, GPUC_UNSUPPORTED, "tensor w: tensors of type undefined");
    bad_tensor(ctx, "4", 14, v, 16, GPUC_UNSUPPORTED, "tensor w: tensors of type complex64");
    bad_tensor(ctx, "4", -5, v, 16, GPUC_INVALID_DATA, "tensor w: element type -5");
    bad_tensor(ctx, dims, 1, v, 4, GPUC_INVALID_DATA, "tensor w: has 71 dimensions");
}

/* ---- Small files whose constants are large ---- */

static size_t live, max;

static void *counting(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size == 0) {
        free(ptr);
        live -= old_size;
        return NULL;
    }
    void *p = realloc(ptr, new_size);
    if (p) live += new_size - old_size;
    if (live > max) max = live;
    return p;
}

static void load_and_optimize(gpuc_ctx *ctx, void *arg)
{
    const gpuc_buf *file = arg;
    gpuc_rmodule *m = gpuc_onnx_load_bytes(ctx, file->data, file->size, "bad.onnx", ".", NULL);
    gpuc_relay_pass_ctx p = {.ctx = ctx, .module = m, .opt_level = 3, .fold_limit = 16 << 20};
    gpuc_relay_pass_optimize(&p);
}

static void expect_bounded(wr_model *m, const char *words)
{
    gpuc_buf file;
    gpuc_allocator a = {.resize = counting};
    gpuc_ctx *ctx;
    struct timespec from, to;
    live = max = 0;
    wr_end(m, &file);
    assert_null(gpuc_ctx_create(&a, &ctx));
    clock_gettime(CLOCK_MONOTONIC, &from);
    gpuc_status status = gpuc_ctx_protect(ctx, load_and_optimize, &file);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (words)
        fx_check_status(status, GPUC_UNSUPPORTED, words);
    else if (status)
        fail_msg("%s", gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
    assert_int_equal(live, 0);
    assert_true(max < 80 << 20);
    assert_true(to.tv_sec - from.tv_sec < 20);
    gpuc_buf_deinit(&file);
}

static void constants_that_grow(void **state)
{
    (void)state;
    wr_model m;
    int64_t big[] = {1 << 20, 1 << 12}, zero = 0, one = 1, billion = 1000000000, list[] = {1 << 20};
    float f = 1;
    wr_begin(&m, 13);
    wr_ints(&m, "shape", "2", big);
    wr_output(&m, "y");
    wr_node(&m, "ConstantOfShape", "shape", "y", NULL);
    expect_bounded(&m, "broadcast_to of n_ConstantOfShape|17179869184 bytes|--fold-limit");
    wr_begin(&m, 13);
    wr_ints(&m, "start", "", &zero);
    wr_ints(&m, "limit", "", &billion);
    wr_ints(&m, "delta", "", &one);
    wr_output(&m, "y");
    wr_node(&m, "Range", "start,limit,delta", "r", NULL);
    wr_node(&m, "ReduceSum", "r", "y", "keepdims=0");
    expect_bounded(&m, "arange of n_Range|8000000000 bytes|--fold-limit");
    wr_begin(&m, 13);
    wr_floats(&m, "f", "1", &f);
    wr_ints(&m, "reps", "1", &billion);
    wr_output(&m, "y");
    wr_node(&m, "Tile", "f,reps", "y", NULL);
    expect_bounded(&m, "tile of n_Tile|4000000000 bytes|--fold-limit");
    wr_begin(&m, 13);
    wr_floats(&m, "f", "1", &f);
    wr_ints(&m, "shape", "2", big);
    wr_output(&m, "y");
    wr_node(&m, "Expand", "f,shape", "y", NULL);
    expect_bounded(&m, "n_Expand|--fold-limit");
    /* many that fit alone */
    wr_begin(&m, 13);
    wr_ints(&m, "shape", "1", list);
    for (int i = 0; i < 64; i++) {
        char name[16], other[32];
        snprintf(name, sizeof name, "c%d", i);
        snprintf(other, sizeof other, "e%d", i);
        wr_node(&m, "ConstantOfShape", "shape", name, NULL);
        wr_node(&m, "Exp", name, other, NULL);
        wr_output(&m, other);
    }
    expect_bounded(&m, "--fold-limit");
    /* an hour of work for a small result: left to the device */
    wr_begin(&m, 13);
    wr_floats(&m, "f", "1", &f);
    wr_ints(&m, "shape", "4", (int64_t[]){1, 1, 1 << 11, 1 << 9});
    wr_output(&m, "y");
    wr_node(&m, "Expand", "f,shape", "a", NULL);
    wr_node(&m, "AveragePool", "a", "y", "kernel_shape=[511, 257]");
    expect_bounded(&m, NULL);
}

/* A sum of 10^5 tensors, a chain of 10^5 nodes, 10^5 unconnected ones. */
static void many_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { N = 100000 };
    wr_model m;
    gpuc_buf names, file;
    gpuc_buf_init(&names, (gpuc_allocator){0});
    begin(&m);
    for (int i = 0; i < N; i++) gpuc_buf_str(&names, i ? ",x" : "x");
    wr_node(&m, "Sum", gpuc_buf_cstr(&names), "y", NULL);
    wr_end(&m, &file);
    load_file(ctx, &file);
    gpuc_buf_deinit(&file);
    gpuc_buf_deinit(&names);
    begin(&m);
    for (int i = N; i > 0; i--) { /* last first */
        char in[16], out[16];
        snprintf(in, sizeof in, i == 1 ? "x" : "t%d", i - 1);
        snprintf(out, sizeof out, i == N ? "y" : "t%d", i);
        wr_node(&m, i % 2 ? "Abs" : "Neg", in, out, NULL);
    }
    wr_end(&m, &file);
    load_file(ctx, &file);
    gpuc_buf_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(not_a_model),
        fx_test(truncated_at_every_byte),
        fx_test(damaged_at_every_byte),
        fx_test(nested_deep),
        fx_test(opsets),
        fx_test(broken_graphs),
        fx_test(zero_bytes),
        fx_test(broken_inputs),
        fx_test(broken_nodes),
        fx_test(several_unsupported),
        fx_test(other_domains),
        fx_test(broken_tensors),
        cmocka_unit_test(constants_that_grow),
        fx_test(many_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
