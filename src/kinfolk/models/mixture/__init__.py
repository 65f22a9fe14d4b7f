"""Answers of a mixture of product distributions, and their gradients, in compiled code.

Every answer is a sum over components of a *left* factor times a *member* factor. The left factor is
a product of probabilities: the group's attributes and, for relation queries, those of the person
who asks. The member factor is what remains: who is in the group. It is worked out once for each set
of attributes and shared by all marginals that name the set; summing over components is then a
matrix product.

`factors` says what the factors of a query are, `schedule` in which order they are worked out, and
`_kernel` does it; `prepared` holds all of it, with `answers` and `vjp`, for one grain of numbers or
for both.
"""
