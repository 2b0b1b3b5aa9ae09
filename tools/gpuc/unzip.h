/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TOOL_UNZIP_H
#define GPUC_TOOL_UNZIP_H

#include <gpuc/tensor_files.h>

/* zlib, for compressed .npz archives; NULL: the program was built without it. */
const gpuc_npz_codec *cli_npz_codec(void);

#endif
