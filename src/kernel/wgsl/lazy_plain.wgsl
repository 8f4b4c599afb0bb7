// SPDX-License-Identifier: Apache-2.0
//
// The functions of lazy_columns.wgsl for the other products: elements below p.
alias Lazy = Element;
alias LazyBy = Limbs;
alias LazyWord = u32;

fn lazy_by(x: Element) -> LazyBy { return cofactor(x); }
fn lazy_of(x: Element) -> Lazy { return x; }
fn lazy_add(x: Lazy, y: Lazy) -> Lazy { return add(x, y); }
fn lazy_sub(x: Lazy, y: Lazy) -> Lazy { return sub(x, y); }
fn carried(x: Lazy) -> Lazy { return x; }
fn settled(x: Lazy) -> Lazy { return x; }
fn lazy_mul(x: Lazy, y: LazyBy) -> Lazy { return canonical(multiply(factor(x), y)); }

// Results of inverse transforms have been multiplied by 1 / n.
fn lazy_element(x: Lazy, halvings: u32, any: bool) -> Element { return x; }
