// SPDX-License-Identifier: Apache-2.0

package gpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"gpuexec"
)

func Example() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	a, b, out := []uint32{1, 2, 3}, []uint32{10, 20, 30}, make([]uint32, 3)
	err = gx.Run(context.Background(), gpuexec.Job{
		Op: gpuexec.Mul, Field: gpuexec.U32,
		A: gpuexec.Host(a), B: gpuexec.Host(b), Out: gpuexec.Host(out),
	})
	fmt.Println(out, err)
	// Output: [10 40 90] <nil>
}

func ExampleContext_Submit() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	v := []uint32{1, 2, 3}
	double := gpuexec.Job{Op: gpuexec.Add, Field: gpuexec.U32, A: gpuexec.Host(v), B: gpuexec.Host(v), Out: gpuexec.Host(v)}
	ctx, cancel := context.WithCancel(context.Background()) // cancel stops jobs that have not begun
	defer cancel()
	ticket, err := gx.Submit(ctx, double, double)
	if err != nil {
		log.Fatal(err)
	}
	// Do something else, and then:
	err = ticket.Wait()
	fmt.Println(v, err)
	// Output: [4 8 12] <nil>
}

func ExampleError() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	v := [][4]uint64{{1}, {2}, {0, 0, 0, 1 << 63}} // the last one is not below the modulus
	err = gx.Run(context.Background(), gpuexec.Job{
		Op: gpuexec.Inv, Field: gpuexec.BN254Fr, A: gpuexec.Host(v), Out: gpuexec.Host(v),
	})
	var e *gpuexec.Error
	if errors.Is(err, gpuexec.ErrNotCanonical) && errors.As(err, &e) {
		fmt.Printf("element %d of operand %c: %v\n", e.Index, e.Operand, e.Status)
	}
	// Output: element 2 of operand a: an element is not below the modulus
}

func ExampleBuffer() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	v := []uint32{1, 2, 3}
	buffer, err := gx.NewBuffer("cpu", 4*len(v)) // or "vulkan:0", "cuda:0"
	if err != nil {
		log.Fatal(err)
	}
	defer buffer.Close()
	if err = buffer.Write(0, gpuexec.Host(v)); err != nil {
		log.Fatal(err)
	}
	square := gpuexec.Job{
		Op: gpuexec.Mul, Field: gpuexec.U32, N: len(v),
		A: gpuexec.Dev(buffer, 0), B: gpuexec.Dev(buffer, 0), Out: gpuexec.Dev(buffer, 0),
	}
	if err = gx.Run(context.Background(), square, square); err != nil {
		log.Fatal(err)
	}
	err = buffer.Read(0, gpuexec.Host(v))
	fmt.Println(v, err)
	// Output: [1 16 81] <nil>
}
