# A dense layer in Julia, as one would compile it with Reactant: `@code_hlo dense(W, x, b)`.
function dense(W, x, b)
    h = W * x
    return max.(h .+ b, 0)
end
