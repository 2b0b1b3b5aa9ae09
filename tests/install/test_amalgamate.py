# SPDX-License-Identifier: Apache-2.0
"""What scripts/amalgamate does with names, on small files: what it renames, what it keeps, and what it refuses."""
import importlib.machinery, importlib.util, os, sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "amalgamate")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("amalgamate", PATH)
amalgamate = importlib.util.module_from_spec(importlib.util.spec_from_loader("amalgamate", loader))
loader.exec_module(amalgamate)

files = {}
amalgamate.read = lambda path: files[path]
failed = 0


def result(first, second="", header=""):
    """The first source beside a second and a header, or the message of why not."""
    files.clear()
    files.update({"src/a/one.c": first, "src/b/two.c": second})
    try:
        sources = [amalgamate.Source("src/a/one.c"), amalgamate.Source("src/b/two.c")]
        return amalgamate.rename_all(sources, [amalgamate.tokens_of(header)])["src/a/one.c"]
    except SystemExit as e:
        return str(e)


def expect(what, got, wanted):
    global failed
    if got != wanted:
        failed += 1
        print(f"{what}\n    gives  {got!r}\n    wanted {wanted!r}")


OTHER = "static int f(void); enum { N = 1 }; typedef struct s { int x; } s; static int v;"
ROWS = [
    # what, the source, what becomes of it (None: nothing)
    ("a name of its own", "static int g(void) { return 1; }", None),
    ("a function", "static int f(int x) { return f(x); }", "static int f_a_one(int x) { return f_a_one(x); }"),
    ("a constant", "enum { M, N = 3 }; int gpuc_a[N];", "enum { M, N_a_one = 3 }; int gpuc_a[N_a_one];"),
    ("a type and a tag", "typedef struct s { struct s *next; } s; s *gpuc_g(struct s x);",
     "typedef struct s_a_one { struct s_a_one *next; } s_a_one; s_a_one *gpuc_g(struct s_a_one x);"),
    ("objects", "static int a = 1, v = N, w; static const char *const f[] = {0};",
     "static int a = 1, v_a_one = N, w; static const char *const f_a_one[] = {0};"),
    ("pointers to functions", "static gpuc_status (*v)(int); typedef int (*f)(void); struct gpuc_t { f call; };",
     "static gpuc_status (*v_a_one)(int); typedef int (*f_a_one)(void); struct gpuc_t { f_a_one call; };"),
    ("members", "static int f(p *x) { x->f = x->y.f; return f(&(p){.f = f(0)}); }",
     "static int f_a_one(p *x) { x->f = x->y.f; return f_a_one(&(p){.f = f_a_one(0)}); }"),
    ("members that it declares", "static int f; struct gpuc_t { int f, v[N]; int (*f)(s f); struct { int f : 3; } u; };",
     "static int f_a_one; struct gpuc_t { int f, v[N]; int (*f)(s f_a_one); struct { int f : 3; } u; };"),
    ("strings and comments", 'static int f; /* f */ char *gpuc_x = "f" "\\"f"; int gpuc_c = \'f\'; // f\n',
     'static int f_a_one; /* f */ char *gpuc_x = "f" "\\"f"; int gpuc_c = \'f\'; // f\n'),
    ("bodies of macros", "static int f(void);\n#define CALL(x) (f() + \\\n  (x).f)\n",
     "static int f_a_one(void);\n#define CALL(x) (f_a_one() + \\\n  (x).f)\n"),
    ("what a macro makes a text of", "#define ROW(x) {#x, offsetof(t, x)}\nstatic int f; r gpuc_rows[] = {ROW(f)};",
     "#define ROW(x) {#x, offsetof(t, x)}\nstatic int f_a_one; r gpuc_rows[] = {ROW(f)};"),
    ("what two macros make a text of", "#define IN(x) #x\n#define ROW(a, x) IN(x)\nstatic int f; r gpuc_r = ROW(f, f);",
     "#define IN(x) #x\n#define ROW(a, x) IN(x)\nstatic int f_a_one; r gpuc_r = ROW(f_a_one, f);"),
    ("what is joined", "#define P(x) vk##x\nstatic int f; int gpuc_g = P(f);",
     "#define P(x) vk##x\nstatic int f_a_one; int gpuc_g = P(f);"),
    ("a text and code", "#define ROW(x) {#x, x}\nstatic int f; r gpuc_rows[] = {ROW(f)};",
     "amalgamate: src/a/one.c:2: 'f' is an argument of ROW, which uses it and makes a text or a member of it; since another "
     "file has that name too, give it another one"),
    ("branches", "#if A\nint gpuc_g(void) {\n#else\nint gpuc_h(void) {\n#endif\n}\nstatic int f;",
     "#if A\nint gpuc_g(void) {\n#else\nint gpuc_h(void) {\n#endif\n}\nstatic int f_a_one;"),
    ("names in functions", "int gpuc_g(void) { enum { K } f = K; static int v; return v; }", None),
    ("a brace too much", "int gpuc_g(void) {} }", "amalgamate: src/a/one.c: line 1 closes a brace too much"),
    ("an open brace", "int gpuc_g(void) {", "amalgamate: src/a/one.c: the brace of line 1 is not closed"),
]
for what, source, wanted in ROWS:
    expect(what, result(source, OTHER), source if wanted is None else wanted)
expect("a name that another file only uses", result("static int index;", "int gpuc_g(void) { return index(); }"),
       "static int index_a_one;")
expect("a member of another file", result("static int g;", "int gpuc_g(p *x) { return x->g; }"), "static int g;")
expect("a name of a header", result("static int g;", "", "int g;"), "static int g_a_one;")
expect("a name with the prefix twice", result("static int gpuc_x;", "static int gpuc_x;"),
       "amalgamate: src/b/two.c:1: 'gpuc_x' is also a name of src/a/one.c")
expect("the new name is there", result("static int f;", "static int f, f_a_one;"),
       "amalgamate: src/a/one.c:1: 'f' cannot be renamed to 'f_a_one', which is there")
print(f"{len(ROWS) + 5 - failed} of {len(ROWS) + 5} passed")
sys.exit(1 if failed else 0)
