#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""A device type as a device of PyTorch's: torch_device.py LIBRARY [--slow] [--few]. --slow: smaller sizes; --few: its
operators have f32 alone, and the CPU has the rest. Exit status 77: PyTorch is not installed."""
import copy
import io
import pathlib
import sys
import threading
import unittest
import warnings

try:
    import torch
    from torch import nn
    from torch.testing import assert_close
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "adapters/python"))
import flaggems_torch

device = None  # the module torch.NAME
slow = few = False


def name():
    return torch._C._get_privateuse1_backend_name()


def there(x):
    return x.detach().to(name()).requires_grad_(x.requires_grad)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        device.set_fallback(few)

    def same(self, got, expected, **tolerance):
        self.assertEqual(got.device.type, name())
        assert_close(got.detach().cpu(), expected.detach(), equal_nan=True, **tolerance)


class Devices(Case):
    def test_module(self):
        self.assertIs(getattr(torch, name()), device)
        self.assertTrue(device.is_available())
        self.assertGreaterEqual(device.device_count(), 1)
        self.assertEqual(device.current_device(), 0)
        self.assertEqual(torch.accelerator.current_accelerator().type, name())
        with device.device(0):
            self.assertEqual(torch.empty(3, device=name()).device, torch.device(name(), 0))
        with self.assertRaisesRegex(RuntimeError, "device"):
            torch.empty(3, device=f"{name()}:{device.device_count()}")
        self.assertIsInstance(device.get_device_name(), str)
        device.synchronize()

    def test_several(self):
        if device.device_count() < 2:
            return
        x = torch.randn(5, 6)
        a = x.to(f"{name()}:1")
        for made in (a + 1, a @ a.t(), a.clone(), torch.arange(3, device=a.device), torch.exp(a, out=a.new_empty(0))):
            self.assertEqual(made.device, torch.device(name(), 1))
        self.same((a + 1).to(f"{name()}:0"), x + 1)
        with self.assertRaisesRegex(RuntimeError, "same device"):
            a + x.to(f"{name()}:0")
        with device.device(1):
            self.assertEqual(torch.rand(2, device=name()).device, a.device)

    def test_streams_and_events(self):
        x = torch.randn(64, 64)
        side = device.Stream()
        self.assertNotEqual(side.stream_id, device.current_stream().stream_id)
        before = device.Event(enable_timing=True)
        after = device.Event(enable_timing=True)
        with side:
            self.assertEqual(device.current_stream(), side)
            before.record()
            y = there(x) @ there(x)
            after.record()
        self.assertNotEqual(device.current_stream(), side)
        device.current_stream().wait_event(after)
        y.record_stream(device.current_stream())
        self.same(y, x @ x, rtol=1e-4, atol=1e-4)
        after.synchronize()
        self.assertTrue(after.query() and side.query())
        self.assertGreaterEqual(before.elapsed_time(after), 0)

    def test_memory(self):
        device.empty_cache()
        before = device.memory_allocated()
        x = torch.empty(1 << 18, device=name())
        self.assertGreaterEqual(device.memory_allocated() - before, 1 << 20)
        del x
        self.assertEqual(device.memory_allocated(), before)
        self.assertGreaterEqual(device.max_memory_allocated() - before, 1 << 20)
        with self.assertRaises(RuntimeError):
            torch.empty(1 << 58, device=name())

    def test_threads(self):
        results, x = [None] * 8, torch.randn(33, 17)

        def work(k):
            results[k] = (there(x) * k).relu().cpu()

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for k, r in enumerate(results):
            assert_close(r, (x * k).relu())


class Random(Case):
    def test_seeds(self):
        torch.manual_seed(7)
        first = torch.randn(100, device=name())
        self.assertEqual(device.initial_seed(), 7)
        second = torch.randn(100, device=name())
        self.assertFalse(torch.equal(first.cpu(), second.cpu()))
        torch.manual_seed(7)
        self.same(torch.randn(100, device=name()), first.cpu(), rtol=0, atol=0)

    def test_state(self):
        state = device.get_rng_state()
        first = torch.rand(50, device=name())
        device.set_rng_state(state)
        self.same(torch.rand(50, device=name()), first.cpu(), rtol=0, atol=0)
        with torch.random.fork_rng(devices=[0], device_type=name()):
            torch.rand(50, device=name())
        with self.assertRaisesRegex(RuntimeError, "16 bytes"):
            device.set_rng_state(torch.zeros(3, dtype=torch.uint8))

    def test_generator(self):
        g = torch.Generator(device=name()).manual_seed(3)
        first = torch.rand(9, generator=g, device=name())
        self.same(torch.rand(9, generator=g.manual_seed(3), device=name()), first.cpu(), rtol=0, atol=0)
        with self.assertRaisesRegex(RuntimeError, "generator"):
            torch.empty(3, device=name()).uniform_(generator=torch.Generator())


class Tensors(Case):
    def test_new(self):
        for make in (torch.zeros, torch.ones, lambda n, **k: torch.full(n, 2.5, **k)):
            for dtype in (torch.float32, torch.int64, torch.bool):
                self.same(make((2, 3), dtype=dtype, device=name()), make((2, 3), dtype=dtype))
        self.same(torch.arange(7, device=name()), torch.arange(7))
        self.same(torch.zeros(2, 0, device=name()), torch.zeros(2, 0))
        self.same(torch.tensor([[1.0, 2], [3, 4]], device=name()), torch.tensor([[1.0, 2], [3, 4]]))
        with self.assertRaisesRegex(RuntimeError, "pinned"):
            torch.empty(3, device=name(), pin_memory=True)

    def test_copies(self):
        x = torch.randn(4, 5, 6)
        for view in (lambda t: t, lambda t: t.permute(2, 0, 1), lambda t: t[:, ::2, 1:], lambda t: t[0, 0, 0],
                     lambda t: t[:, :0], lambda t: t.select(1, 2)):
            for dtype in (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.complex128,
                          torch.uint8, torch.bfloat16):
                here = (x * 3).to(dtype)
                self.same(view(there(here)), view(here))          # the device's view, to the host
                self.same(view(here).to(name()), view(here))      # the host's view, to the device
                to = torch.zeros_like(here, device=name())
                view(to).copy_(view(there(here)))                 # both on the device
                expected = torch.zeros_like(here)
                view(expected).copy_(view(here))
                self.same(to, expected)
        self.same(there(x).to(torch.int64), x.to(torch.int64))
        self.same(torch.zeros(3, 4, device=name()).copy_(there(x[0, 0, :4])), x[0, 0, :4].expand(3, 4))

    def test_conjugate_and_negative_bits(self):  # whose fallbacks call _copy_from
        x = torch.randn(3, 4, dtype=torch.complex64)
        for view in (torch.conj, lambda t: t.conj().imag, lambda t: t.imag, lambda t: t.conj().t()):
            self.same(view(there(x)), view(x).resolve_conj().resolve_neg())
            self.same(view(x).to(name()), view(x).resolve_conj().resolve_neg())
            self.same(view(there(x)).clone(), view(x).clone())

    def test_item_and_print(self):
        x = torch.tensor([1.5, -2.0])
        self.assertEqual(there(x)[1].item(), -2.0)
        self.assertEqual(there(x).tolist(), [1.5, -2.0])
        self.assertIn(f"device='{name()}:0'", repr(there(x)))
        self.assertIn("-2.0000", repr(there(x)))

    def test_storages(self):
        x = there(torch.arange(6.0))
        alias = torch.empty(0, device=name()).set_(x.untyped_storage(), 2, (2, 2), (1, 2))
        self.same(alias, torch.tensor([[2.0, 4], [3, 5]]))
        self.same(torch.empty(0, device=name()).set_(x), torch.arange(6.0))
        self.assertEqual(torch.empty(3, device=name()).set_().numel(), 0)
        x.resize_(12)
        self.same(x[:6], torch.arange(6.0))
        self.assertEqual(x.untyped_storage().nbytes(), 48)
        copied = copy.deepcopy(x)
        copied.zero_()
        self.same(x[:6], torch.arange(6.0))
        x.untyped_storage().resize_(0)
        self.assertEqual(x.untyped_storage().nbytes(), 0)

    def test_save_and_load(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(name())
        file = io.BytesIO()
        torch.save({"model": model.state_dict(), "x": torch.arange(3.0, device=name())}, file)
        for where in (None, "cpu"):
            file.seek(0)
            loaded = torch.load(file, map_location=where)
            self.assertEqual(loaded["x"].device.type, where or name())
            assert_close(loaded["x"].cpu(), torch.arange(3.0))
            other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(name())
            other.load_state_dict(loaded["model"])
            self.same(other[0].weight, model[0].weight.cpu())

    def test_dlpack(self):
        x = there(torch.arange(6.0).reshape(2, 3))
        back = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x.t()))
        self.assertEqual(back.data_ptr(), x.data_ptr())
        self.same(back, torch.arange(6.0).reshape(2, 3).t())


class Operators(Case):
    def test_numbers(self):  # which come as tensors of the CPU without dimensions
        x, n = torch.randn(3, 4), torch.arange(12).reshape(3, 4)
        for f in (lambda t: t * 2, lambda t: 2.5 - t, lambda t: t / 3, lambda t: t > 1, lambda t: t + torch.tensor(2.0)):
            self.same(f(there(x)), f(x))
            self.same(f(there(n)), f(n))
        with self.assertRaisesRegex(RuntimeError, "can't be cast"):
            there(n).mul_(2.5)
        with self.assertRaisesRegex(RuntimeError, "same device"):
            there(x) + x

    def test_promotion(self):
        x, n = torch.randn(3, 4), torch.arange(4)
        for other in (n, n > 1, n.double(), torch.tensor(3), torch.tensor(3.0, dtype=torch.float64)):
            self.same(there(x) + there(other), x + other)
            self.same(there(other) * there(x), other * x)
        self.same(there(n).sum(), n.sum())
        self.same(there(n).softmax(-1, dtype=torch.float32), n.softmax(-1, dtype=torch.float32))

    def test_outputs_are_resized(self):
        x = torch.randn(3, 4)
        out = torch.empty(0, device=name())
        self.assertIs(torch.exp(there(x), out=out), out)
        self.same(out, x.exp())
        pointer = out.data_ptr()
        torch.sin(there(x), out=out)
        self.assertEqual(out.data_ptr(), pointer)
        self.same(out, x.sin())
        values, indices = torch.empty(0, device=name()), torch.empty(0, dtype=torch.int64, device=name())
        torch.topk(there(x), 2, out=(values, indices))
        self.same(values, x.topk(2).values)
        part = torch.zeros(4, 3, device=name()).t()
        torch.add(there(x), 1, out=part)
        self.same(part, x + 1)

    def test_strides_are_those_of_aten(self):
        x = torch.randn(2, 3, 4, 5)
        last = x.to(memory_format=torch.channels_last)
        for t in (last, x.permute(2, 0, 3, 1), x[:, :, ::2], x[:, :1].expand(2, 3, 4, 5)):
            for f in (torch.relu, lambda a: a + 1, lambda a: a * a, lambda a: a.sum(1), lambda a: a.softmax(1),
                      lambda a: a.clone(), lambda a: torch.zeros_like(a), lambda a: a.to(torch.float64)):
                got, expected = f(t.to(name()) if t is not t.contiguous() else there(t)), f(t)
                self.same(got, expected)
                self.assertEqual(got.stride(), expected.stride())
        moved = last.to(name())
        self.assertTrue(moved.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(moved.relu().is_contiguous(memory_format=torch.channels_last))

    def test_indices(self):
        x, mask = torch.randn(5, 4), torch.tensor([True, False, True, True, False])
        y = there(x)
        self.same(y[there(mask)], x[mask])
        self.same(y[there(torch.tensor([3, -1]))], x[[3, -1]])
        y[there(mask)] = 2
        z = x.clone()
        z[mask] = 2
        self.same(y, z)
        if not slow:  # chips do not tell
            with self.assertRaises(IndexError):
                y[there(torch.tensor([7]))]

    def test_fallback(self):
        x = torch.rand(4)
        device.set_fallback(False)
        with self.assertRaisesRegex(NotImplementedError, "aten::i0"):
            torch.special.i0(there(x))
        device.set_fallback(["i0"])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                self.same(torch.special.i0(there(x)), torch.special.i0(x))
        self.assertEqual(len([w for w in told if "aten::i0" in str(w.message)]), 1)
        device.set_fallback(["igamma"])  # its result goes where the other tensor is
        self.same(torch.igamma(torch.tensor(2.0), there(x)), torch.igamma(torch.tensor(2.0), x))
        with self.assertRaisesRegex(NotImplementedError, "digamma"):
            torch.digamma(there(x))
        device.set_fallback(True)
        device.count_calls()
        self.same(torch.digamma(there(x)), torch.digamma(x))
        self.same(there(x).exp(), x.exp())
        calls = device.take_calls()
        self.assertEqual(calls["aten::exp"], (1, 0))
        self.assertEqual(calls["aten::digamma.out"], (0, 1))
        device.count_calls(False)

    def test_names_of_ours(self):
        x, gate = torch.randn(3, 8), torch.randn(3, 8)
        self.same(torch.ops.flaggems.silu_and_mul(there(x), there(gate)), nn.functional.silu(x) * gate)

    def test_product_and_softmax(self):
        a, b = torch.randn(1024, 512), torch.randn(512, 2048)
        if slow:
            a, b = a[:64], b[:, :96]
        self.same(there(a) @ there(b), a @ b, rtol=1e-4, atol=1e-3)
        self.same(there(a).softmax(-1), a.softmax(-1))


def gradients(model, x, run=lambda model, x: model(x)):
    y = run(model, x)
    y = y[0] if isinstance(y, tuple) else y
    y.square().sum().backward()
    return [y] + [p.grad for p in (x, *model.parameters()) if p.requires_grad]


class Training(Case):
    def compare(self, model, x, **options):
        model.zero_grad()
        x.grad = None
        other = copy.deepcopy(model).to(name())
        for got, expected in zip(gradients(other, there(x), **options), gradients(model, x, **options)):
            self.same(got, expected, rtol=1e-3, atol=1e-4)

    def test_layers(self):  # gradients of what ATen composes come from what it is composed of
        x = torch.randn(4, 6, 8)
        self.compare(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Softmax(-1)), x)
        self.compare(nn.Sequential(nn.Linear(8, 5), nn.SiLU(), nn.LogSoftmax(-1)), x)
        self.compare(nn.Embedding(10, 4), torch.tensor([[1, 2], [9, 1]]))

    def test_recurrent_cells(self):
        x = torch.randn(5, 3, 6)
        self.compare(nn.LSTM(6, 4, num_layers=2), x)
        self.compare(nn.LSTM(6, 4, bias=False), x)
        self.compare(nn.GRU(6, 4), x)
        self.compare(nn.GRU(6, 4, bias=False), x)

    def test_batch_norm(self):  # which writes its running statistics
        x = torch.randn(6, 4, 5, requires_grad=True)
        for options in ({}, {"affine": False}, {"track_running_stats": False}):
            model = nn.BatchNorm1d(4, **options)
            self.compare(model, x)
            other = copy.deepcopy(model).to(name())
            for _ in range(2):
                self.same(other(there(x)), model(x), rtol=1e-4, atol=1e-5)
            for got, expected in zip(other.buffers(), model.buffers()):
                self.same(got, expected)
            self.compare(model.eval(), x)

    def test_convolution_is_left_to_the_cpu(self):
        model, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 6, 6)
        device.set_fallback(False)
        with self.assertRaisesRegex(NotImplementedError, "convolution"):
            copy.deepcopy(model).to(name())(there(x))
        device.set_fallback(["convolution_overrideable", "convolution_backward_overrideable"])
        self.compare(model, x)

    def test_transformer_layer(self):
        device.set_fallback(True)
        self.compare(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), torch.randn(2, 5, 8))

    def test_losses(self):
        x = torch.randn(6, 5, requires_grad=True)
        for options in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": torch.rand(5)},
                        {"label_smoothing": 0.1}, {"ignore_index": 1}):
            moved = {k: there(v) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
            x.grad = None
            target = torch.tensor([0, 4, 1, 1, options.get("ignore_index", -100), 2])
            y = there(x)
            expected = nn.functional.cross_entropy(x, target, **options)
            got = nn.functional.cross_entropy(y, there(target), **moved)
            self.same(got, expected)
            expected.sum().backward()
            got.sum().backward()
            self.same(y.grad, x.grad)

    def test_autocast(self):  # by ATen's lists
        x, w = torch.randn(4, 8), torch.randn(8, 8)
        a, b = there(x), there(w)
        device.set_fallback(True)  # of what has no f16
        with torch.autocast(name(), dtype=torch.float16):
            lower = torch.get_autocast_dtype(name())
            added, product, exponent = a + a, a @ b, a.to(lower).exp()
            soft, total = a.to(lower).softmax(-1), a.to(lower).sum()
            mixed = torch.addcmul(a, a.to(lower), a)
            normal = nn.functional.layer_norm(a.to(lower), [8])
            of_rows, _ = torch.ops.flaggems.rms_norm_forward(a.to(lower), [8])
        for made in (added, exponent, soft, total, mixed, normal, of_rows):
            self.assertEqual(made.dtype, torch.float32)
        self.assertEqual(product.dtype, lower)
        self.same(added, x + x)
        self.same(product.float(), x @ w, rtol=1e-2, atol=1e-2)
        self.same(of_rows, nn.functional.rms_norm(x.to(lower).float(), [8], eps=1e-5), rtol=1e-3, atol=1e-4)

    def test_vmap(self):
        x, y = torch.randn(3, 4, 5), torch.randn(3, 5)
        self.same(torch.vmap(torch.mv)(there(x), there(y)), torch.vmap(torch.mv)(x, y))

    def test_mlp(self):
        sizes, batch, steps = ((512, 1024, 512, 10), 64, 8) if not slow else ((32, 48, 24, 10), 8, 4)
        layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
        model = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
        x, target = torch.randn(batch, sizes[0]), torch.randint(10, (batch,))
        losses = {}
        for where in ("cpu", name()):
            copied = copy.deepcopy(model).to(where)
            optimizer = torch.optim.Adam(copied.parameters(), 1e-3)
            losses[where] = []
            for _ in range(steps):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(copied(x.to(where)), target.to(where))
                loss.backward()
                optimizer.step()
                losses[where].append(loss.item())
        assert_close(torch.tensor(losses[name()]), torch.tensor(losses["cpu"]), rtol=1e-3, atol=1e-4)
        self.assertLess(losses[name()][-1], (0.99 if slow else 0.8) * losses[name()][0])


class Compiling(Case):
    def test_backends(self):
        model, x = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16)), torch.randn(4, 8)
        expected = gradients(copy.deepcopy(model), x)
        for options in ({"backend": "eager"}, {"backend": "aot_eager"}, {"mode": "lite"}, {}):
            torch._dynamo.reset()
            other = copy.deepcopy(model).to(name())
            device.count_calls()
            got = gradients(torch.compile(other, fullgraph=True, **options), there(x))
            calls = device.take_calls()
            device.count_calls(False)
            for called in ("addmm", "gelu", "native_layer_norm", "gelu_backward", "native_layer_norm_backward"):
                self.assertEqual(calls["aten::" + called], (1, 0))
            for g, e in zip(got, expected):
                self.same(g, e, rtol=1e-3, atol=1e-4)

    def test_kernels_of_inductor(self):  # for which there is no code
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, 'mode="lite"'):
            torch.compile(lambda x: (x + 1).sin() * 2, options={"fallback_by_default": False})(
                there(torch.randn(4, 8)))


if __name__ == "__main__":
    library = sys.argv.pop(1)
    few = "--few" in sys.argv
    slow = few or "--slow" in sys.argv
    device = flaggems_torch.load(library)
    unittest.main(argv=[a for a in sys.argv if a not in ("--few", "--slow")])
