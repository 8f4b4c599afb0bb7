module gpuexec

go 1.25.0
