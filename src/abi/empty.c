typedef int gpuc_abi_empty;
