/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npz archive, a .npy array, or a TensorProto, by how they begin. Seeds: files of each kind. */
#include <stdlib.h>
#include <string.h>

#include <gpuc/tensor_files.h>

#include "../../tools/gpuc/unzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(gpuc_host_tensor *t)
{
    unsigned sum = 0;
    for (size_t i = 0; i < t->size; i++) sum += ((const uint8_t *)t->data)[i];
    if (t->size && sum == 0 && t->count > t->size) abort();
    gpuc_host_tensor_deinit(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gpuc_status status;
    gpuc_host_tensor t = {0};
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        gpuc_npz *archive;
        status = gpuc_npz_parse(data, size, "fuzz", cli_npz_codec(), &archive);
        for (int i = 0; !status && i < gpuc_npz_count(archive); i++) {
            status = gpuc_npz_read(archive, i, &t);
            if (!status) look_at(&t);
        }
        gpuc_npz_close(archive);
    } else {
        bool npy = size && data[0] == 0x93;
        status = npy ? gpuc_npy_parse(data, size, "fuzz", &t) : gpuc_pb_parse(data, size, "fuzz", &t);
        if (!status) look_at(&t);
    }
    gpuc_status_release(status);
    return 0;
}
