/* SPDX-License-Identifier: Apache-2.0 */
/* Newer operators against models of older ones that compute the same, on random inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../relay_pass/interp.h"
#include "load.h"

/* A node: operator|inputs|outputs|attributes. */
typedef struct equivalence {
    const char *name;
    int opset;
    const char *inputs;    /* of float32: "x[2,3] b[4]" */
    const char *constants; /* lists of int64: "shape=2,3 axes=1" */
    const char *one[9];
    int older; /* opset of the others */
    const char *other[32];
} equivalence;

static const equivalence equivalences[] = {
    {"hardmax before opset 13",
     13,
     "x[2,3,4]",
     "whole=2,3,4 rows=6,4",
     {"Hardmax|x|y|axis=-1"},
     11,
     {"Reshape|x,rows|r|", "Hardmax|r|h|axis=1", "Reshape|h,whole|y|"}},
    {"padding with an integer that no double has",
     13,
     "x[2,3]",
     "big=4748168892723600955 pads=0,1,0,2",
     {"Cast|x|i|to=7", "Pad|i,pads,big|p|", "Sub|p,big|d|", "Cast|d|y|to=1"},
     13,
     {"Cast|x|i|to=7", "Sub|i,big|s|", "Pad|s,pads|d|", "Cast|d|y|to=1"}},
    {"group norm",
     21,
     "x[2,6,5,3] s[6] b[6]",
     "grouped=0,3,-1 whole=2,6,5,3 column=6,1,1",
     {"GroupNormalization|x,s,b|y|num_groups=3 epsilon=0.01"},
     13,
     {"Reshape|x,grouped|g|", "ReduceMean|g|mean|axes=[2]", "Sub|g,mean|c|", "Mul|c,c|c2|",
      "ReduceMean|c2|v|axes=[2]", "Constant||eps|value_float=0.01", "Add|v,eps|ve|", "Sqrt|ve|d|",
      "Div|c,d|n|", "Reshape|n,whole|w|", "Reshape|s,column|sc|", "Reshape|b,column|bc|", "Mul|w,sc|ws|",
      "Add|ws,bc|y|"}},
    {"group norm, a scale per group",
     18,
     "x[2,6,5] s[2] b[2]",
     "column=2,1 all=2,3 list=6",
     {"GroupNormalization|x,s,b|y|num_groups=2"},
     21,
     {"Reshape|s,column|sc|", "Expand|sc,all|sa|", "Reshape|sa,list|sl|", "Reshape|b,column|bc|",
      "Expand|bc,all|ba|", "Reshape|ba,list|bl|", "GroupNormalization|x,sl,bl|y|num_groups=2"}},
    {"RMS norm",
     23,
     "x[3,4,5] s[4,5]",
     "",
     {"RMSNormalization|x,s|y|axis=1"},
     13,
     {"Mul|x,x|x2|", "ReduceMean|x2|m|axes=[1, 2]", "Constant||eps|value_float=0.00001", "Add|m,eps|e|",
      "Sqrt|e|d|", "Div|x,d|n|", "Mul|n,s|y|"}},
    {"mean and deviation of layer norm",
     17,
     "x[3,4,5] s[5] b[5]",
     "",
     {"LayerNormalization|x,s,b|z,m,i|epsilon=0.1", "Sub|x,m|c|", "Mul|c,i|n|", "Mul|n,s|ns|", "Add|ns,b|y|"},
     17,
     {"LayerNormalization|x,s,b|y|epsilon=0.1"}},
    {"L1 normalisation",
     22,
     "x[3,4,5]",
     "",
     {"LpNormalization|x|y|p=1 axis=1"},
     13,
     {"Abs|x|a|", "ReduceL1|a|n|axes=[1]", "Div|x,n|y|"}},
    {"L2 normalisation",
     22,
     "x[3,4,5]",
     "",
     {"LpNormalization|x|y|"},
     13,
     {"ReduceL2|x|n|axes=[2]", "Div|x,n|y|"}},
    {"global Lp pool",
     22,
     "x[2,3,4,5]",
     "axes=2,3",
     {"GlobalLpPool|x|y|p=3"},
     13,
     {"Abs|x|a|", "Constant||p|value_float=3.0", "Constant||q|value_float=0.33333333333", "Pow|a,p|ap|",
      "ReduceSum|ap,axes|s|", "Pow|s,q|y|"}},
    {"Lp pool",
     18,
     "x[2,3,9]",
     "",
     {"LpPool|x|y|kernel_shape=[3] strides=[2] pads=[1, 1] dilations=[2]"},
     19,
     {"Mul|x,x|x2|", "Constant||k|value_float=3.0",
      "AveragePool|x2|a|kernel_shape=[3] strides=[2] pads=[1, 1] dilations=[2] count_include_pad=1",
      "Mul|a,k|s|", "Sqrt|s|y|"}},
    {"mean and variance",
     13,
     "x[2,3,4,5]",
     "",
     {"MeanVarianceNormalization|x|y|axes=[0, 2]"},
     13,
     {"ReduceMean|x|m|axes=[0, 2]", "Sub|x,m|c|", "Mul|c,c|c2|", "ReduceMean|c2|v|axes=[0, 2]", "Sqrt|v|d|",
      "Div|c,d|y|"}},
    {"batch norm in training",
     15,
     "x[4,3,5] s[3] b[3] m[3] v[3]",
     "column=3,1",
     {"BatchNormalization|x,s,b,m,v|n,rm,rv|training_mode=1 momentum=0.75", "Reshape|rm,column|rc|",
      "Add|n,rc|nr|", "Reshape|rv,column|vc|", "Add|nr,vc|y|"},
     13,
     {"ReduceMean|x|mean|axes=[0, 2]",
      "Sub|x,mean|c|",
      "Mul|c,c|c2|",
      "ReduceMean|c2|var|axes=[0, 2]",
      "Constant||eps|value_float=0.00001",
      "Add|var,eps|ve|",
      "Sqrt|ve|d|",
      "Div|c,d|q|",
      "Reshape|s,column|sc|",
      "Reshape|b,column|bc|",
      "Mul|q,sc|qs|",
      "Add|qs,bc|n|",
      "Constant||keep|value_float=0.75",
      "Constant||take|value_float=0.25",
      "Reshape|m,column|mc|",
      "Reshape|v,column|oc|",
      "Mul|mc,keep|mk|",
      "Mul|mean,take|mt|",
      "Mul|oc,keep|ok|",
      "Mul|var,take|vt|",
      "Add|mk,mt|rm|",
      "Add|ok,vt|rv|",
      "Add|n,rm|nr|",
      "Add|nr,rv|y|"}},
    {"dropout that drops nothing",
     13,
     "x[2,3]",
     "",
     {"Constant||r|value_float=0.0", "Constant||i|value_int=1", "Cast|i|t|to=9", "Dropout|x,r,t|y|"},
     13,
     {"Identity|x|y|"}},
    {"cross entropy",
     13,
     "x[3,4,2] w[4]",
     "t=3,0,2,1,1,3 shape=3,2",
     {"Reshape|t,shape|l|", "SoftmaxCrossEntropyLoss|x,l,w|z,p|ignore_index=1", "Add|z,p|y|"},
     13,
     {"Reshape|t,shape|l|", "LogSoftmax|x|p|axis=1", "NegativeLogLikelihoodLoss|p,l,w|z|ignore_index=1",
      "Add|z,p|y|"}},
    {"a deformed convolution that is straight",
     22,
     "x[2,4,5,6] w[6,2,3,2] b[6]",
     "shape=2,12,3,5",
     {"ConstantOfShape|shape|o|", "DeformConv|x,w,o,b|y|strides=[2, 1] pads=[1, 0, 1, 0] group=2"},
     11,
     {"Conv|x,w,b|y|strides=[2, 1] pads=[1, 0, 1, 0] group=2"}},
    {"columns to an image",
     18,
     "x[2,12,6]",
     "image=4,6 block=2,2 c=2,3,2,2,2,3 whole=2,3,4,6",
     {"Col2Im|x,image,block|y|strides=[2, 2]"},
     13,
     {"Reshape|x,c|r|", "Transpose|r|t|perm=[0, 1, 4, 2, 5, 3]", "Reshape|t,whole|y|"}},
    {"a grid that stays",
     20,
     "x[1,3,3,4]",
     "size=1,3,3,4",
     {"Constant||t|value_floats=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]", "Constant||s|value_ints=[1, 2, 3]",
      "Reshape|t,s|theta|", "AffineGrid|theta,size|g|align_corners=1", "ReduceSum|g|q|keepdims=0",
      "Add|x,q|y|"},
     13,
     {"Identity|x|y|"}},
    {"maxima put back",
     11,
     "x[2,3,6,4]",
     "",
     {"MaxPool|x|m,i|kernel_shape=[2, 2] strides=[2, 2]",
      "MaxUnpool|m,i|u|kernel_shape=[2, 2] strides=[2, 2]", "Relu|u|r|",
      "MaxPool|r|y|kernel_shape=[2, 2] strides=[2, 2]"},
     11,
     {"MaxPool|x|m|kernel_shape=[2, 2] strides=[2, 2]", "Relu|m|y|"}},
    {"a region of pixels",
     16,
     "x[2,3,4,5]",
     "image=1",
     {"Constant||f|value_floats=[0.0, 0.0, 5.0, 4.0]", "Constant||s|value_ints=[1, 4]", "Reshape|f,s|roi|",
      "RoiAlign|x,roi,image|y|output_height=4 output_width=5 sampling_ratio=1"},
     13,
     {"Gather|x,image|y|"}},
    {"maxima of a region",
     13,
     "x[2,3,4,6]",
     "image=1",
     {"Constant||f|value_floats=[1.0, 0.0, 0.0, 5.0, 3.0]", "Constant||s|value_ints=[1, 5]",
      "Reshape|f,s|roi|", "MaxRoiPool|x,roi|y|pooled_shape=[2, 3]"},
     13,
     {"Gather|x,image|g|", "MaxPool|g|y|kernel_shape=[2, 2] strides=[2, 2]"}},
    {"attention",
     23,
     "q[2,4,3,5] k[2,2,6,5] v[2,2,6,7] m[3,6]",
     "pairs=2,2,2,3,5 single=2,2,1,6,5 value=2,2,1,6,7 whole=2,4,3,7",
     {"Attention|q,k,v,m|y|scale=0.5 softcap=2.0"},
     13,
     {"Reshape|q,pairs|qp|", "Reshape|k,single|ks|", "Reshape|v,value|vs|",
      "Transpose|ks|kt|perm=[0, 1, 2, 4, 3]", "MatMul|qp,kt|s|", "Constant||f|value_float=0.25",
      "Mul|s,f|sf|", "Tanh|sf|th|", "Constant||two|value_float=2.0", "Mul|th,two|sc|", "Add|sc,m|sm|",
      "Softmax|sm|p|axis=-1", "MatMul|p,vs|o|", "Reshape|o,whole|y|"}},
    {"causal attention after past keys",
     23,
     "q[1,2,6] k[1,2,6] v[1,2,6] pk[1,2,3,3] pv[1,2,3,3]",
     "heads=1,2,2,3 joined=1,2,6",
     {"Attention|q,k,v,,pk,pv|o,nk,nv|is_causal=1 q_num_heads=2 kv_num_heads=2", "ReduceSum|nk|s|keepdims=0",
      "Add|o,s|y|"},
     14,
     {"Reshape|q,heads|q4|",
      "Transpose|q4|qt|perm=[0, 2, 1, 3]",
      "Reshape|k,heads|k4|",
      "Transpose|k4|kt|perm=[0, 2, 1, 3]",
      "Reshape|v,heads|v4|",
      "Transpose|v4|vt|perm=[0, 2, 1, 3]",
      "Concat|pk,kt|nk|axis=2",
      "Concat|pv,vt|nv|axis=2",
      "Transpose|nk|kk|perm=[0, 1, 3, 2]",
      "MatMul|qt,kk|s|",
      "Constant||three|value_float=3.0",
      "Sqrt|three|root|",
      "Div|s,root|sd|",
      "Constant||far|value_floats=[0.0, 0.0, 0.0, 0.0, -1000000.0]",
      "Constant||none|value_floats=[0.0, 0.0, 0.0, 0.0, 0.0]",
      "Constant||rows|value_ints=[1, 5]",
      "Reshape|far,rows|fr|",
      "Reshape|none,rows|nr|",
      "Concat|fr,nr|mask|axis=0",
      "Add|sd,mask|sm|",
      "Softmax|sm|p|axis=-1",
      "MatMul|p,nv|o4|",
      "Transpose|o4|ot|perm=[0, 2, 1, 3]",
      "Reshape|ot,joined|o|",
      "ReduceSum|nk|ks|keepdims=0",
      "Add|o,ks|y|"}},
    {"rotary embedding",
     23,
     "x[2,3,4,6] c[5,2] s[5,2]",
     "at=4,0,2,1,3,3,1,0 where=2,4 axis=1 parts=2,2,2",
     {"Reshape|at,where|p|", "RotaryEmbedding|x,c,s,p|y|rotary_embedding_dim=4"},
     13,
     {"Reshape|at,where|p|", "Gather|c,p|c3|", "Gather|s,p|s3|", "Unsqueeze|c3,axis|c4|",
      "Unsqueeze|s3,axis|s4|", "Split|x,parts|a,b,rest|axis=3", "Mul|a,c4|ac|", "Mul|b,s4|bs|",
      "Sub|ac,bs|u|", "Mul|a,s4|as|", "Mul|b,c4|bc|", "Add|as,bc|w|", "Concat|u,w,rest|y|axis=3"}},
};

/* The next part of "a b[2] c=3" up to a space; false: there is none. */
static bool next_word(const char **p, char *out, size_t size)
{
    *p += strspn(*p, " ");
    size_t n = strcspn(*p, " ");
    snprintf(out, size, "%.*s", (int)n, *p);
    *p += n;
    return n > 0;
}

static gpuc_rmodule *load(gpuc_ctx *ctx, const equivalence *e, int opset, const char *const *nodes)
{
    wr_model m;
    char word[128], part[4][128];
    wr_begin(&m, opset);
    for (const char *p = e->inputs; next_word(&p, word, sizeof word);) {
        char *dims = strchr(word, '[');
        *dims++ = 0;
        dims[strcspn(dims, "]")] = 0;
        wr_input(&m, word, 1, dims);
    }
    for (const char *p = e->constants; next_word(&p, word, sizeof word);) {
        int64_t list[16];
        int n = 0;
        char *v = strchr(word, '='), count[12];
        for (*v++ = 0; *v; v += *v == ',') list[n++] = strtoll(v, &v, 10);
        snprintf(count, sizeof count, "%d", n);
        wr_ints(&m, word, count, list);
    }
    for (; *nodes; nodes++) {
        const char *p = *nodes;
        for (int i = 0; i < 4; i++) {
            size_t n = strcspn(p, "|");
            snprintf(part[i], sizeof part[i], "%.*s", (int)n, p);
            p += n + (p[n] == '|');
        }
        wr_node(&m, part[0], part[1], part[2], *part[3] ? part[3] : NULL);
    }
    wr_output(&m, "y");
    gpuc_buf file;
    wr_end(&m, &file);
    return wr_load(ctx, &file, ".", NULL);
}

static void check(gpuc_ctx *ctx, void *arg)
{
    const equivalence *e = arg;
    interp_expect_equal(ctx, load(ctx, e, e->opset, e->one), load(ctx, e, e->older, e->other), 77, 2e-5);
}

static void newer_is_older(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof equivalences / sizeof equivalences[0]; i++) {
        gpuc_ctx *ctx;
        print_message("  %s\n", equivalences[i].name);
        assert_null(gpuc_ctx_create(NULL, &ctx));
        gpuc_status status = gpuc_ctx_protect(ctx, check, (void *)&equivalences[i]);
        if (status) fail_msg("%s: %s", equivalences[i].name, gpuc_status_message(status));
        gpuc_ctx_destroy(ctx);
    }
    print_message("cases: %zu\n", sizeof equivalences / sizeof equivalences[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(newer_is_older)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
