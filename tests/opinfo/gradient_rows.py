# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of the gradients of factors of matrices, which have no names in ATen: its own are what PyTorch's autograd gives of
the operators themselves."""
import torch

FACTORED = (torch.float32, torch.float64)


def differentiated(f, grads, *operands):
    """The gradients by the operands of the results of f, of those that have a gradient."""
    with torch.enable_grad():
        given = [x.detach().clone().requires_grad_() for x in operands]
        results = f(*given)
        results = results if isinstance(results, tuple) else (results,)
        pairs = [(r, g) for r, g in zip(results, grads) if g is not None]
        return torch.autograd.grad([r for r, _ in pairs], given, [g for _, g in pairs], allow_unused=True)


def wanted(mask, gradients):
    return tuple(g if keep else None for keep, g in zip(mask, gradients))


def triangle(x, upper):
    return x.triu() if upper else x.tril()


def squares(dtype):
    """Matrices far from singular."""
    for sizes in ((4, 4), (2, 3, 3), (1, 1), (2, 0, 0), (0, 3, 3)):
        n = sizes[-1]
        yield torch.randn(*sizes, dtype=dtype) * 0.3 + 2 * torch.eye(n, dtype=dtype)


def cholesky(grad, l, upper=False):
    l = triangle(l, upper)
    return differentiated(lambda a: torch.linalg.cholesky(a, upper=upper), [grad], l.mT @ l if upper else l @ l.mT)[0]


def cholesky_samples(dtype):
    for l in squares(dtype):
        for upper in (False, True):
            yield (torch.randn_like(l), l, upper)
            yield (torch.randn_like(l).mT, l.mT, upper)


def inverse(grad, l, _inverse, upper=False):
    return triangle(differentiated(lambda l: torch.cholesky_inverse(l, upper=upper), [grad], l)[0], upper)


def inverse_samples(dtype):
    for grad, l, upper in cholesky_samples(dtype):
        if l.numel():
            l = triangle(l, upper)
            yield (grad, l, torch.cholesky_inverse(l, upper=upper), upper)


def sides(dtype):
    for a, b in (((3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1, 3)), ((2, 4, 4), (4, 1))):
        yield torch.randn(a, dtype=dtype) * 0.3 + 2 * torch.eye(a[-1], dtype=dtype), torch.randn(b, dtype=dtype)


def cholesky_solve(grad, b, l, _x, upper, mask):
    batch = grad.shape[:-2]
    of_b, of_l = differentiated(lambda b, l: torch.cholesky_solve(b.expand(*batch, *b.shape[-2:]),
                                                                  l.expand(*batch, *l.shape[-2:]), upper), [grad], b, l)
    return wanted(mask, (of_b, triangle(of_l, upper)))


def cholesky_solve_samples(dtype):
    for l, b in sides(dtype):
        for upper, mask in ((False, [True, True]), (True, [True, False]), (True, [False, True])):
            factor = triangle(l, upper)  # ATen's gradient reads the other triangle, too
            batch = torch.broadcast_shapes(b.shape[:-2], l.shape[:-2])
            x = torch.cholesky_solve(b.expand(*batch, *b.shape[-2:]), factor, upper)
            yield (torch.randn_like(x), b, factor, x, upper, mask)


def triangular(grad, a, b, _x, upper, left, unitriangular, mask):
    named = {"upper": upper, "left": left, "unitriangular": unitriangular}
    return wanted(mask, differentiated(lambda a, b: torch.linalg.solve_triangular(a, b, **named), [grad], a, b))


def triangular_samples(dtype):
    for a, b in sides(dtype):
        for upper, left, unit, mask in ((False, True, False, [True, True]), (True, False, False, [True, True]),
                                        (True, True, True, [True, False]), (False, False, True, [False, True])):
            right = b if left else b.mT
            x = torch.linalg.solve_triangular(a, right, upper=upper, left=left, unitriangular=unit)
            yield (torch.randn_like(x), a, right, x, upper, left, unit, mask)


def oblongs(dtype):
    for sizes in ((3, 3), (2, 4, 2), (2, 2, 4), (1, 3)):
        yield torch.randn(sizes, dtype=dtype) + 3 * torch.eye(*sizes[-2:], dtype=dtype)


def lu(grad_l, grad_u, p, l, u):
    a = l @ u if p.numel() == 0 else p @ l @ u
    return differentiated(lambda a: torch.linalg.lu(a, pivot=p.numel() > 0)[1:], [grad_l, grad_u], a)[0]


def lu_samples(dtype):
    for a in oblongs(dtype):
        p, l, u = torch.linalg.lu(a)
        yield (torch.randn_like(l), torch.randn_like(u), p, l, u)
        yield (torch.randn_like(l), None, p, l, u)
        yield (None, torch.randn_like(u).mT.contiguous().mT, p, l, u)


def lu_factor(grad, packed, pivots, pivot=True):
    p, l, u = torch.lu_unpack(packed, pivots)
    return differentiated(lambda a: torch.linalg.lu_factor_ex(a, pivot=pivot)[0], [grad], p @ l @ u)[0]


def lu_factor_samples(dtype):
    for a in oblongs(dtype):
        packed, pivots, _ = torch.linalg.lu_factor_ex(a)
        yield (torch.randn_like(packed), packed, pivots)


def determinant(f):
    def gradient(grad, a):
        return differentiated(f, [grad], a)[0]
    return gradient


def determinant_samples(dtype):
    for a in squares(dtype):
        yield (torch.randn(a.shape[:-2], dtype=dtype), a)
        yield (torch.randn(a.shape[:-2], dtype=dtype), a.mT)


def svd(grad_u, grad_s, grad_vh, u, s, vh):
    def factors(a):
        found_u, found_s, found_vh = torch.linalg.svd(a, full_matrices=False)
        turned = (found_u.detach() * u).sum(-2).sign()
        return found_u * turned.unsqueeze(-2), found_s, found_vh * turned.unsqueeze(-1)
    return differentiated(factors, [grad_u, grad_s, grad_vh], (u * s.unsqueeze(-2)) @ vh)[0]


def svd_samples(dtype):
    for a in oblongs(dtype):
        u, s, vh = torch.linalg.svd(a, full_matrices=False)
        grads = torch.randn_like(u), torch.randn_like(s), torch.randn_like(vh)
        yield (*grads, u, s, vh)
        yield (None, grads[1], None, u, s, vh)
        yield (grads[0], None, grads[2], u, s, vh)


def least_squares(grad, a, b, _x, _rcond, mask):
    return wanted(mask, differentiated(lambda a, b: torch.linalg.lstsq(a, b).solution, [grad], a, b))


def least_squares_samples(dtype):
    for m, n, mask in ((3, 3, [True, True]), (5, 2, [True, True]), (2, 4, [True, False]), (4, 3, [False, True])):
        a = torch.randn(2, m, n, dtype=dtype) + 2 * torch.eye(m, n, dtype=dtype)
        for b in (torch.randn(2, m, 2, dtype=dtype), torch.randn(2, m, dtype=dtype)):
            x = torch.linalg.lstsq(a, b).solution
            yield (torch.randn_like(x), a, b, x, None, mask)


ROWS = {
    "flaggems::cholesky_backward": (cholesky, cholesky_samples, FACTORED),
    "flaggems::cholesky_inverse_backward": (inverse, inverse_samples, FACTORED),
    "flaggems::cholesky_solve_backward": (cholesky_solve, cholesky_solve_samples, FACTORED),
    "flaggems::linalg_solve_triangular_backward": (triangular, triangular_samples, FACTORED),
    "flaggems::linalg_lu_backward": (lu, lu_samples, FACTORED),
    "flaggems::linalg_lu_factor_ex_backward": (lu_factor, lu_factor_samples, FACTORED),
    "flaggems::linalg_det_backward": (determinant(torch.linalg.det), determinant_samples, FACTORED),
    "flaggems::linalg_slogdet_backward": (determinant(lambda a: torch.linalg.slogdet(a)[1]), determinant_samples, FACTORED),
    "flaggems::linalg_svd_backward": (svd, svd_samples, FACTORED),
    "flaggems::linalg_lstsq_backward": (least_squares, least_squares_samples, FACTORED),
}
