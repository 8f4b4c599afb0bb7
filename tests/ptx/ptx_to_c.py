#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptx_to_c.py: translates the kernels of cmake/ptx.cmake to C, so that tests run them without a GPU.

Knows the instructions that clang generates for them and no others: an unknown one is an error. One
C function runs one thread of a block; threads take turns at barriers (emulate.c). Registers become
variables, the carry flag is one too, and addresses are those of the host. The words GX_PTX_OP,
GX_PTX_CHECK and GX_PTX_REPEAT become variables. A kernel with GX_PTX_AWAIT has to execute it in every
thread, before it touches memory of others: otherwise it ends the process.

usage: ptx_to_c.py NAME FILE... > OUTPUT     defines NAME_emulated, with one kernel for each FILE
"""
import re
import sys

SIZES = {"8": "uint8_t", "16": "uint16_t", "32": "uint32_t", "64": "uint64_t"}
KINDS = {"b": "uint", "u": "uint", "s": "int"}
SPECIAL = {"%tid.x": "self->tid", "%ctaid.x": "self->ctaid_x", "%ctaid.y": "self->ctaid_y",
           "%nctaid.x": "self->nctaid_x", "GX_PTX_OP": "self->op", "GX_PTX_CHECK": "self->check",
           "GX_PTX_REPEAT": "self->repeat"}


def c_type(name):
    """u32 -> uint32_t; pred -> int; f32 -> float."""
    if name == "pred":
        return "int"
    if name == "f32":
        return "float"
    return KINDS[name[0]] + name[1:] + "_t"


def value(text):
    """An operand: register, special register, number or symbol."""
    text = text.strip()
    if text in SPECIAL:
        return SPECIAL[text]
    if text.startswith("%"):
        return "v_" + text[1:]
    if re.fullmatch(r"-?\d+", text):
        number = int(text)
        return "%d%s" % (number, "u" if 0 <= number < 1 << 32 else "ll") if number >= 0 else "(%d)" % number
    if re.fullmatch(r"[A-Za-z_$][\w$]*", text):
        return text
    raise ValueError("operand " + text)


def address(text):
    match = re.fullmatch(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", text.strip())
    if not match:
        raise ValueError("address " + text)
    return "((uint8_t *)(uintptr_t)%s + %s)" % (value(match[1]), match[2] or "0")


def split(text):
    """Operands, at commas that are not in braces or brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "{[("
        depth -= c in "}])"
        if c == "," and not depth:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def move(op, words, args):
    """ld and st, also of vectors."""
    kind = words[-1]
    wide = c_type(kind)
    load = words[0] == "ld"
    registers, place = (args[0], args[1]) if load else (args[1], args[0])
    names = split(registers.strip("{}")) if registers.startswith("{") else [registers]
    if any(w in ("v2", "v4") for w in words) != (len(names) > 1):
        raise ValueError(op)
    out = ["uint8_t *at_ = %s;" % address(place)]
    for i, name in enumerate(names):
        if load:
            out.append("{ %s x_; memcpy(&x_, at_ + %d * sizeof x_, sizeof x_); t%d_ = x_; }" % (wide, i, i))
        else:
            out.append("{ %s x_ = (%s)%s; memcpy(at_ + %d * sizeof x_, &x_, sizeof x_); }" %
                       (wide, wide, value(name), i))
    if load:
        out[0] += " " + " ".join("%s t%d_;" % (wide, i) for i in range(len(names)))
        out += ["%s = t%d_;" % (value(name), i) for i, name in enumerate(names)]
    return "{ " + " ".join(out) + " }"


COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=",
           "hi": ">", "hs": ">="}


def carries(words, d, a):
    """add, sub and mad with .cc, or their forms that take the carry."""
    name, takes, sets = words[0].rstrip("c"), words[0].endswith("c"), "cc" in words
    name = "subtract" if name == "sub" else name
    if name in ("add", "subtract"):
        sign = "+" if name == "add" else "-"
        total = "(uint64_t)(uint32_t)%s %s (uint32_t)%s" % (a[0], sign, a[1])
        if takes:
            total += " %s cc" % sign
    else:
        half = ">> 32" if "hi" in words else "& 0xffffffffu"
        total = "((uint64_t)(uint32_t)%s * (uint32_t)%s %s) + (uint32_t)%s" % (a[0], a[1], half, a[2])
        if takes:
            total += " + cc"
    carry = " cc = (uint32_t)(sum_ >> 32) & 1;" if sets else ""
    return "{ uint64_t sum_ = %s; %s = (uint32_t)sum_;%s }" % (total, d, carry)


def compute(op, words, args):
    """What one instruction does, as C."""
    name, kind = words[0], words[-1]
    d, a = value(args[0]), [value(x) for x in args[1:]]
    if name in ("addc", "subc", "madc") or "cc" in words:
        if kind not in ("u32", "s32", "b32"):
            raise ValueError(op)
        return carries(words, d, a)
    if name == "cvt":
        return "%s = (%s)(%s)%s;" % (d, c_type(words[-2]), c_type(kind), a[0])
    if name == "cvta" or (name == "mov" and kind in ("u64", "b64")):
        return "%s = (uint64_t)(uintptr_t)%s;" % (d, a[0])
    wide = c_type(kind)
    x = ["(%s)%s" % (wide, y) for y in a]
    bits = "64" if kind.endswith("64") else "32"
    if name == "mov" and "v_f" in d + a[0]: # between an integer and a float: the bits
        return "memcpy(&%s, &%s, 4);" % (d, a[0])
    if name == "mov":
        return "%s = %s;" % (d, x[0])
    if name in ("add", "sub", "mul") and kind == "f32" and "rn" in words:
        return "%s = %s %s %s;" % (d, a[0], {"add": "+", "sub": "-", "mul": "*"}[name], a[1])
    if kind == "f32":
        raise ValueError(op)
    if name in ("mul", "mad") and ("wide" in words or "hi" in words):
        double = "int64_t" if kind[0] == "s" else "uint64_t"
        product = "((%s)%s * (%s)%s)" % (double, x[0], double, x[1])
        if "hi" in words:
            product = "(%s >> 32)" % product
        return "%s = %s%s;" % (d, product, " + " + a[2] if name == "mad" else "")
    unsigned = "uint%s_t" % bits
    u = ["(%s)%s" % (unsigned, y) for y in a]
    if name == "mul" and "lo" in words:
        return "%s = %s * %s;" % (d, u[0], u[1])
    if name == "mad" and "lo" in words:
        return "%s = %s * %s + %s;" % (d, u[0], u[1], u[2])
    if name in ("add", "sub"):
        return "%s = %s %s %s;" % (d, u[0], "+" if name == "add" else "-", u[1])
    if name in ("and", "or", "xor"):
        return "%s = %s %s %s;" % (d, a[0], {"and": "&", "or": "|", "xor": "^"}[name], a[1])
    if name == "not":
        return "%s = %s%s;" % (d, "!" if kind == "pred" else "~", a[0])
    if name == "neg":
        return "%s = 0 - %s;" % (d, u[0])
    if name in ("shl", "shr"):
        sign = "(%s >> %d)" % (x[0], int(bits) - 1) if kind[0] == "s" else "0"
        return "%s = (uint32_t)%s >= %s ? %s : %s %s (uint32_t)%s;" % (
            d, a[1], bits, sign, x[0], "<<" if name == "shl" else ">>", a[1])
    if name in ("div", "rem"):
        return "%s = %s %s %s;" % (d, x[0], "/" if name == "div" else "%", x[1])
    if name in ("min", "max"):
        return "%s = %s %s %s ? %s : %s;" % (d, x[0], "<" if name == "min" else ">", x[1], a[0], a[1])
    if name == "selp":
        return "%s = %s ? %s : %s;" % (d, a[2], a[0], a[1])
    if name == "setp":
        return "%s = %s %s %s;" % (d, x[0], COMPARE[words[1]], x[1])
    if name == "popc":
        return "%s = (uint32_t)__builtin_popcount(%s);" % (d, x[0])
    if name == "clz":
        return "%s = %s ? (uint32_t)__builtin_clz(%s) : 32;" % (d, x[0], x[0])
    if name == "brev":
        return "%s = reverse_bits(%s);" % (d, x[0])
    if name == "bfe" and kind == "u32":
        return "%s = extract_bits(%s, %s, %s);" % (d, a[0], a[1], a[2])
    if name == "shf" and "wrap" in words:
        pair = "((uint64_t)%s << 32 | (uint32_t)%s)" % (a[1], a[0])
        return "%s = (uint32_t)(%s >> %s);" % (
            d, pair, "(%s & 31)" % a[2] if words[1] == "r" else "(32 - (%s & 31))" % a[2])
    raise ValueError(op)


AWAIT = "griddepcontrol.wait; griddepcontrol.launch_dependents;"


def instruction(text, awaits):
    """As C. awaits: of a kernel that has to wait first."""
    guard, check = "", "if (!awaited) abort(); " if awaits else ""
    match = re.match(r"@(!?)(%?\w+)\s+(.*)", text, re.S)
    if match:
        guard, text = "if (%s%s) " % (match[1], value(match[2])), match[3]
    op, _, rest = text.strip().partition(" ")
    words, rest = op.split("."), rest.strip()
    name = words[0]
    if name == "bra":
        return guard + "goto %s;" % rest.replace("$", "_")
    if name == "ret":
        return guard + "{ %sreturn; }" % check
    if name in ("bar", "barrier"):
        return guard + ("gx__warp_barrier();" if "warp" in words else "gx__barrier();")
    if name == "membar":
        return ";"
    if name == "griddepcontrol":
        return "awaited = 1;" if words[1] == "wait" and not guard else ";"
    if name == "call":
        match = re.fullmatch(r"(?:\(([^)]*)\)\s*,)?\s*([\w$]+)\s*,\s*\(([^)]*)\)", rest, re.S)
        if not match or guard:
            raise ValueError(text)
        given = ([match[1].strip()] if match[1] else []) + split(match[3])
        return "%s(%s);" % (match[2], ", ".join(["self"] + given))
    args = split(rest)
    if op == "vote.sync.ballot.b32" and not guard:
        return "%s = gx__ballot(%s);" % (value(args[0]), value(args[1]))
    if op == "shfl.sync.idx.b32" and not guard:
        return "%s = gx__shuffle(%s, %s);" % (value(args[0]), value(args[1]), value(args[2]))
    if name in ("ld", "st"):
        return guard + "{ %s%s }" % (check if "global" in words else "", move(op, words, args))
    if name == "red" and words[1:] == ["global", "min", "u32"]:
        return guard + "{ %slower((uint32_t *)%s, %s); }" % (check, address(args[0]), value(args[1]))
    if name == "atom" and words[1] == "shared" and words[2] in ("or", "add"):
        sign = "|" if words[2] == "or" else "+"
        return guard + "{ uint32_t *at_ = (uint32_t *)%s, x_ = *at_; *at_ = x_ %s %s; %s = x_; }" % (
            address(args[1]), sign, value(args[2]), value(args[0]))
    return guard + compute(op, words, args)


def registers(text):
    """.reg .b32 %r<299>, or of names."""
    match = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text, re.S)
    kind = c_type(match[1])
    if kind.startswith("int") and kind != "int":
        kind = "u" + kind
    names = []
    for name in split(match[2]):
        many = re.fullmatch(r"(%?[\w$]+)<(\d+)>", name)
        names += [value(many[1] + str(i)) for i in range(int(many[2]))] if many else [value(name)]
    return "%s %s;" % (kind, ", ".join(n + " = 0" for n in names))


def space(text):
    """A variable in memory: its name, size and list of bytes."""
    match = re.fullmatch(r"(?:\.visible\s+)?\.(\w+)\s+(?:\.align\s+(\d+)\s+)?\.([bus]\d+)\s+([\w$]+)(?:\[(\d+)\])?"
                         r"(?:\s*=\s*\{(.*)\})?", text, re.S)
    if not match:
        raise ValueError(text)
    size = int(match[5] or 1) * int(match[3][1:]) // 8
    return match[1], match[4], size, match[3], match[6]


def body(text, prefix, awaits):
    """Statements of a function. Memory of the block is one variable: one block runs at a time."""
    out, shared = [], []
    for token in re.findall(r"[{}]|[\w$]+:(?!:)|[^;{}\s][^;{}]*\{[^{};]*\}[^;{}]*;|[^;{}]+;", text):
        token = token.strip()
        if not token or token == ";":
            continue
        if token in "{}":
            out.append(token)
        elif re.fullmatch(r"[\w$]+:", token):
            out.append(token.replace("$", "_") + " ;")
        else:
            while True: # a label may stand before an instruction
                match = re.match(r"([\w$]+):\s*(.*)", token, re.S)
                if not match:
                    break
                out.append(match[1].replace("$", "_") + ": ;")
                token = match[2]
            token = re.sub(r"\s+", " ", token.rstrip(";").strip())
            if not token or token.startswith(".pragma"):
                continue
            if token.startswith(".reg"):
                out.append(registers(token))
            elif token.startswith((".param", ".local")):
                _, name, size, _, _ = space(token)
                out.append("_Alignas(16) uint8_t %s[%d];" % (name, size))
            elif token.startswith(".shared"):
                _, name, size, _, _ = space(token)
                shared.append("static _Alignas(16) uint8_t %s_%s[%d];" % (prefix, name, size))
                out.append("uint8_t *%s = %s_%s;" % (name, prefix, name))
            else:
                out.append(instruction(token, awaits))
    return out, shared


def translate(text, prefix):
    """The C text of a module, whose entry becomes the function `prefix`."""
    text = re.sub(r"//[^\n]*", "", text).replace("GX_PTX_AWAIT", AWAIT)
    out, functions = [], []
    start = re.compile(r"(\.visible\s+)?\.(entry|func|const|global|shared)\b")
    at = 0
    while True:
        match = start.search(text, at)
        if not match:
            break
        if match[2] in ("const", "global", "shared"):
            end = text.index(";", match.start())
            kind, name, size, element, data = space(text[match.start():end].strip())
            if element != "b8" and data:
                raise ValueError(text[match.start():end])
            out.append("static _Alignas(16) uint8_t %s_%s[%d]%s;" % (
                prefix, name, size, " = {%s}" % data if data else ""))
            out.append("#define %s %s_%s" % (name, prefix, name))
            at = end + 1
            continue
        end = re.compile(r"[;{]").search(text, match.end())
        head = text[match.end():end.start()]
        head = re.sub(r"\.(maxntid|minnctapersm|reqntid)[^\n]*", "", head)
        names = re.findall(r"\.param[^,()]*?([\w$]+)(?:\[\d+\])?\s*(?=[,)])", head, re.S)
        function = re.search(r"([\w$]+)\s*\(\s*(?:\.param|\))[^()]*\)\s*$", head, re.S)
        if not function:
            raise ValueError(head)
        called = prefix if match[2] == "entry" else function[1]
        arguments = ["const struct gx_thread *self"] + ["uint8_t *" + n for n in names]
        if match[2] == "func" and function[1] not in functions:
            functions.append(function[1])
            out.append("#define %s %s_%s" % (function[1], prefix, function[1]))
            out.append("static void %s(%s);" % (called, ", ".join(arguments)))
        if text[end.start()] == ";": # only says that it exists
            at = end.end()
            continue
        depth, close = 0, end.start()
        for brace in re.finditer(r"[{}]", text[end.start():]):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                close = end.start() + brace.end()
                break
        awaits = match[2] == "entry" and AWAIT in text
        lines, shared = body(text[end.start() + 1:close - 1], prefix, awaits)
        out += shared
        out.append("static void %s(%s)\n{\nuint32_t cc = 0;\nint awaited = 0;\n(void)cc;\n(void)awaited;\n(void)self;" % (
            called, ", ".join(arguments)))
        out += lines
        out.append("}")
        at = close
    for name in sorted(set(re.findall(r"^#define ([\w$]+) ", "\n".join(out), re.M))):
        out.append("#undef " + name)
    return "\n".join(out) + "\n"


HEAD = """/* Generated by ptx_to_c.py. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate.h"

static inline uint32_t reverse_bits(uint32_t x)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (x >> i & 1) << (31 - i);
    return r;
}

static inline uint32_t extract_bits(uint32_t x, uint32_t from, uint32_t count)
{
    from &= 255;
    count &= 255;
    x = from < 32 ? x >> from : 0;
    return count < 32 ? x & ((1u << count) - 1) : x;
}

static inline void lower(uint32_t *at, uint32_t x)
{
    if (x < *at)
        *at = x;
}
"""


def main():
    prefix, files, barriers = sys.argv[1], sys.argv[2:], []
    print(HEAD)
    for i, file in enumerate(files):
        with open(file, encoding="ascii") as f:
            text = f.read()
            barriers.append(bool(re.search(r"bar\.(warp\.)?sync|\bshfl\.sync", text)))
            try:
                print(translate(text, "%s_%d" % (prefix, i)))
            except (ValueError, KeyError) as e:
                sys.exit("ptx_to_c.py: %s: not known: %s" % (file, e))
    print("const struct gx_emulated %s_emulated[] = {%s};" % (
        prefix, ", ".join("{%s_%d, %d}" % (prefix, i, b) for i, b in enumerate(barriers))))


if __name__ == "__main__":
    main()
