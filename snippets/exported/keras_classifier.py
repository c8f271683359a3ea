"""A classifier of small images in Keras, which JAX exports for any number of images."""

from pathlib import Path

import jax
import keras
from jax import export

images = keras.Input((28, 28), name="images")
hidden = keras.layers.Flatten()(images)
hidden = keras.layers.Dense(512, activation="relu", name="hidden")(hidden)
classes = keras.layers.Dense(10, activation="softmax", name="classes")(hidden)
classifier = keras.Model(images, classes)

if __name__ == "__main__":
    (rows,) = export.symbolic_shape("rows")
    weights = classifier.trainable_variables, classifier.non_trainable_variables

    def classify(weights, images):
        return classifier.stateless_call(*weights, images)[0]

    shapes = jax.tree.map(lambda part: jax.ShapeDtypeStruct(part.shape, part.dtype), weights)
    program = export.export(jax.jit(classify))(shapes, jax.ShapeDtypeStruct((rows, 28, 28), "float32"))
    Path("keras_classifier.jaxexport").write_bytes(program.serialize())
